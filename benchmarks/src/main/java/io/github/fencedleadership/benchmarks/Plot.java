package io.github.fencedleadership.benchmarks;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws curves on two logarithmic axes as an SVG.
 */
final class Plot {

	private static final int WIDTH = 720;

	private static final int HEIGHT = 400;

	private static final int LEFT = 70;

	private static final int RIGHT = 110;

	private static final int TOP = 40;

	private static final int BOTTOM = 50;

	private static final List<String> COLORS = List.of("#1b6ca8", "#c8553d", "#588157", "#8e6c8a", "#b5838d");

	private Plot() {
	}

	static String of(String title, String x, String y, Map<String, Map<Integer, Double>> curves) {
		double maxX = max(curves.values().stream().flatMapToDouble((c) -> c.keySet().stream().mapToDouble((i) -> i)));
		double maxY = max(curves.values().stream().flatMapToDouble((c) -> c.values().stream().mapToDouble((d) -> d)));
		double minY = curves.values()
			.stream()
			.flatMapToDouble((c) -> c.values().stream().mapToDouble((d) -> d))
			.min()
			.orElse(1);
		int decadesX = Math.max(1, (int) Math.ceil(Math.log10(maxX)));
		int lowY = (int) Math.floor(Math.log10(minY));
		int highY = Math.max(lowY + 1, (int) Math.ceil(Math.log10(maxY)));
		StringBuilder svg = new StringBuilder();
		svg.append(format(
				"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n",
				WIDTH, HEIGHT));
		svg.append(format("<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", title, WIDTH,
				HEIGHT));
		svg.append(format("<text x=\"%d\" y=\"22\" font-size=\"15\" fill=\"#222222\">%s</text>\n", LEFT, title));
		for (int decade = 0; decade <= decadesX; decade++) {
			double at = LEFT + (WIDTH - LEFT - RIGHT) * decade / (double) decadesX;
			svg.append(line(at, TOP, at, HEIGHT - BOTTOM));
			svg.append(text(at, HEIGHT - BOTTOM + 18, "middle",
					String.format(Locale.ROOT, "%,.0f", Math.pow(10, decade))));
		}
		for (int decade = lowY; decade <= highY; decade++) {
			double at = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (decade - lowY) / (double) (highY - lowY);
			svg.append(line(LEFT, at, WIDTH - RIGHT, at));
			svg.append(text(LEFT - 8, at + 4, "end", (decade < 0) ? format("%." + -decade + "f", Math.pow(10, decade))
					: format("%,.0f", Math.pow(10, decade))));
		}
		svg.append(text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", x));
		svg.append(format(
				"<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"#444444\">%s</text>\n",
				(TOP + HEIGHT - BOTTOM) / 2, y));
		int color = 0;
		for (Map.Entry<String, Map<Integer, Double>> curve : curves.entrySet()) {
			String stroke = COLORS.get(color++ % COLORS.size());
			StringBuilder points = new StringBuilder();
			double endX = 0;
			double endY = 0;
			for (Map.Entry<Integer, Double> point : curve.getValue().entrySet()) {
				endX = LEFT + (WIDTH - LEFT - RIGHT) * Math.log10(point.getKey()) / decadesX;
				endY = HEIGHT - BOTTOM
						- (HEIGHT - TOP - BOTTOM) * (Math.log10(point.getValue()) - lowY) / (highY - lowY);
				points.append(format("%.1f,%.1f ", endX, endY));
				svg.append(format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", endX, endY, stroke));
			}
			svg.append(format("<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
					points.toString().trim(), stroke));
			svg.append(format("<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", endX + 8, endY + 4, stroke,
					curve.getKey()));
		}
		return svg.append("</svg>\n").toString();
	}

	private static double max(java.util.stream.DoubleStream values) {
		return values.max().orElse(1);
	}

	private static String line(double x1, double y1, double x2, double y2) {
		return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", x1, y1, x2, y2);
	}

	private static String text(double x, double y, String anchor, String text) {
		return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#444444\">%s</text>\n", x, y, anchor,
				text);
	}

	private static String format(String pattern, Object... arguments) {
		return String.format(Locale.ROOT, pattern, arguments);
	}

}
