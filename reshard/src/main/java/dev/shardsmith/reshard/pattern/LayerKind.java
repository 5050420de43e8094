package dev.shardsmith.reshard.pattern;

import java.util.Optional;

/**
 * A kind of hybrid layer and its symbol in a pattern.
 *
 * <p>The order of the constants is the order in which counts are listed.
 */
public enum LayerKind {
    /** Softmax attention, with or without grouped queries. */
    ATTENTION('*', "attention"),
    /** Latent attention with a sparse indexer. */
    SPARSE_ATTENTION('D', "sparse attention (DSA)"),
    /** Gated delta net. */
    GATED_DELTA('G', "gated delta net"),
    /** A state space mixer: Mamba-2, Mamba-1 or gated delta product. */
    MAMBA('M', "Mamba"),
    /** Multi-head latent attention. */
    LATENT_ATTENTION('+', "latent attention (MLA)"),
    /** A dense feed-forward layer. */
    MLP('-', "MLP"),
    /** A mixture of experts. */
    EXPERTS('E', "experts (MoE)");

    /** Every symbol, in listing order. */
    static final String SYMBOLS = "*DGM+-E";

    private final char symbol;
    private final String title;

    LayerKind(char symbol, String title) {
        this.symbol = symbol;
        this.title = title;
    }

    /** The character of this kind in a pattern. */
    public char symbol() {
        return symbol;
    }

    /** What to call this kind in a report. */
    public String title() {
        return title;
    }

    /** Whether this kind has latent attention's parameters, which exclude plain attention in one model. */
    public boolean isLatent() {
        return this == SPARSE_ATTENTION || this == LATENT_ATTENTION;
    }

    /** The kind with this symbol; the symbols are case-sensitive. */
    public static Optional<LayerKind> of(char symbol) {
        for (LayerKind kind : values()) {
            if (kind.symbol == symbol) {
                return Optional.of(kind);
            }
        }
        return Optional.empty();
    }
}
