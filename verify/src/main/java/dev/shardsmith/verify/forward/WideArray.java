package dev.shardsmith.verify.forward;

/** Numbers in the heap, in double precision; {@link #of} widens those that are floats. */
record WideArray(double[] values) implements DeviceArray {

    @Override
    public long length() {
        return values.length;
    }

    @Override
    public boolean isOnHeap() {
        return true;
    }

    @Override
    public void close() {}

    static double[] of(DeviceArray array) {
        if (array instanceof WideArray wide) {
            return wide.values;
        }
        if (array instanceof CpuArray narrow) {
            return widened(narrow.values());
        }
        throw new IllegalArgumentException("an array of another backend: " + array.getClass());
    }

    static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
