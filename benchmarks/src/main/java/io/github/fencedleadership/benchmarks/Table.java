package io.github.fencedleadership.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A table of the report.
 */
final class Table {

	private final String title;

	private final String note;

	private final List<String> columns;

	private final List<List<String>> rows = new ArrayList<>();

	Table(String title, String note, String... columns) {
		this.title = title;
		this.note = note;
		this.columns = List.of(columns);
	}

	String title() {
		return this.title;
	}

	void row(Object... cells) {
		if (cells.length != this.columns.size()) {
			throw new IllegalArgumentException(
					"'%s' has %d columns, not %d".formatted(this.title, this.columns.size(), cells.length));
		}
		this.rows.add(Stream.of(cells)
			.map((cell) -> (cell instanceof Double number) ? Samples.format(number) : String.valueOf(cell))
			.toList());
	}

	List<List<String>> rows() {
		return this.rows;
	}

	String toMarkdown() {
		StringBuilder markdown = new StringBuilder("### ").append(this.title).append("\n\n");
		markdown.append(this.note).append("\n\n");
		markdown.append(line(this.columns));
		markdown.append(line(this.columns.stream().map((column) -> "---").toList()));
		this.rows.forEach((row) -> markdown.append(line(row)));
		return markdown.append('\n').toString();
	}

	private static String line(List<String> cells) {
		return cells.stream().collect(Collectors.joining(" | ", "| ", " |\n"));
	}

}
