package io.github.fencedleadership.benchmarks;

import java.util.Arrays;
import java.util.Locale;

/**
 * Measured values of one thing, all in the same unit.
 */
final class Samples {

	private double[] values = new double[0];

	synchronized void add(double value) {
		this.values = Arrays.copyOf(this.values, this.values.length + 1);
		this.values[this.values.length - 1] = value;
	}

	synchronized int count() {
		return this.values.length;
	}

	double median() {
		return quantile(0.5);
	}

	double p99() {
		return quantile(0.99);
	}

	/**
	 * Return a quantile as one of the values, so that nothing is reported that was not
	 * measured.
	 * @param q from 0 to 1
	 * @return the smallest value that is not exceeded by the given part of all
	 */
	synchronized double quantile(double q) {
		double[] sorted = this.values.clone();
		if (sorted.length == 0) {
			throw new IllegalStateException("Nothing was measured");
		}
		Arrays.sort(sorted);
		return sorted[Math.max(0, (int) Math.ceil(q * sorted.length) - 1)];
	}

	/**
	 * Return the least and the greatest value.
	 * @return the range as text
	 */
	String spread() {
		return format(quantile(0)) + "-" + format(quantile(1));
	}

	@Override
	public String toString() {
		return format(median());
	}

	static String format(double value) {
		double size = Math.abs(value);
		String pattern = (size >= 100) ? "%,.0f" : (size >= 10) ? "%.1f" : "%.2f";
		return String.format(Locale.ROOT, pattern, value);
	}

	static String times(double ratio) {
		return format(ratio) + "x";
	}

}
