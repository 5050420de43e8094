package dev.shardsmith.verify.forward;

/** Softmax attention in double precision, one head of one token at a time. */
record WideAttention(double[] q, double[] k, double[] v, AttentionShape shape, double scale, boolean causal) {

    /**
     * One token's head.
     *
     * @param cell number of the head, counted through all tokens of all sequences
     */
    void head(int cell, double[] out) {
        int width = shape.headDim();
        int token = cell / shape.heads();
        int first = token / shape.length() * shape.length();
        int seen = causal ? token - first + 1 : shape.length();
        int keyHead = cell % shape.heads() / (shape.heads() / shape.keyHeads());
        double[] scores = new double[seen];
        double max = Double.NEGATIVE_INFINITY;
        for (int j = 0; j < seen; j++) {
            int key = ((first + j) * shape.keyHeads() + keyHead) * width;
            for (int c = 0; c < width; c++) {
                scores[j] += q[cell * width + c] * k[key + c];
            }
            scores[j] *= scale;
            max = Math.max(max, scores[j]);
        }
        double total = 0;
        for (int j = 0; j < seen; j++) {
            scores[j] = Math.exp(scores[j] - max);
            total += scores[j];
        }
        for (int j = 0; j < seen; j++) {
            int value = ((first + j) * shape.keyHeads() + keyHead) * width;
            for (int c = 0; c < width; c++) {
                out[cell * width + c] += scores[j] / total * v[value + c];
            }
        }
    }
}
