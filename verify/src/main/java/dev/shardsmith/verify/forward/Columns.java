package dev.shardsmith.verify.forward;

import java.util.Arrays;

/** Columns of matrices that lie row after row in arrays of floats or of doubles: they are moved alike, whatever they are. */
final class Columns {
    private Columns() {}

    /**
     * Some columns alone.
     *
     * @param source [rows, width]
     * @param target [rows, count], of the type of the source
     * @param from the first of them
     */
    static <A> A pick(A source, A target, int rows, int width, int from, int count) {
        copy(source, width, from, target, count, 0, count, rows);
        return target;
    }

    /**
     * Matrices side by side.
     *
     * @param parts each [rows, its width]
     * @param target [rows, all widths], of the type of the parts
     */
    static <A> A join(A[] parts, A target, int rows, int[] widths) {
        int width = Arrays.stream(widths).sum();
        int column = 0;
        for (int part = 0; part < parts.length; part++) {
            place(parts[part], widths[part], target, width, column, rows);
            column += widths[part];
        }
        return target;
    }

    /** Copies all columns of a matrix to those of a wider one, from one on. */
    static void place(Object source, int count, Object target, int width, int to, int rows) {
        copy(source, count, 0, target, width, to, count, rows);
    }

    @SuppressWarnings("SuspiciousSystemArraycopy")
    private static void copy(
            Object source, int sourceWidth, int from, Object target, int targetWidth, int to, int count, int rows) {
        for (int row = 0; row < rows; row++) {
            System.arraycopy(source, row * sourceWidth + from, target, row * targetWidth + to, count);
        }
    }
}
