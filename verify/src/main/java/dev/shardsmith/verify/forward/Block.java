package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One residual branch: {@code hidden + Σ mixers(norm(hidden))}.
 *
 * @param layer number of the layer it belongs to, over the whole model
 * @param kind what it is, in a word
 * @param shared what is added to the norm's input, but not to the residual stream
 * @param norm in front of the mixers, if there is one
 * @param mixers what runs side by side; their results are added. Without any, the norm is all there is
 * @param notRun why running it would not give what its framework computes, if that is so
 */
public record Block(
        int layer,
        String kind,
        Optional<SharedTransformer> shared,
        Optional<PreNorm> norm,
        List<Mixer> mixers,
        Optional<String> notRun) {

    /** A branch that can be run. */
    public Block(
            int layer, String kind, Optional<SharedTransformer> shared, Optional<PreNorm> norm, List<Mixer> mixers) {
        this(layer, kind, shared, norm, mixers, Optional.empty());
    }

    /** A branch without a shared transformer. */
    public Block(int layer, String kind, PreNorm norm, List<Mixer> mixers) {
        this(layer, kind, Optional.empty(), Optional.of(norm), mixers);
    }

    /**
     * The parts that are compared one by one, each with an input of its own: the fewer operations in a row, the smaller the
     * difference that rounding explains.
     */
    public List<Block> parts() {
        if (shared.isEmpty()) {
            return List.of(this);
        }
        SharedTransformer transformer = shared.get();
        return List.of(
                new Block(
                        layer,
                        kind + " attention",
                        Optional.empty(),
                        Optional.empty(),
                        List.of(transformer.attention()),
                        notRun),
                new Block(
                        layer,
                        kind + " mlp",
                        Optional.empty(),
                        Optional.of(transformer.mlpNorm()),
                        List.of(transformer.feedForward()),
                        notRun),
                new Block(layer, kind, Optional.empty(), norm, mixers, notRun));
    }

    /** What the branch adds to the residual stream. */
    public Signal branch(Pass pass, Signal hidden) throws IOException {
        Signal entering = hidden;
        if (shared.isPresent()) {
            entering = pass.add(hidden, shared.get().forward(pass, hidden), 1);
        }
        Signal normed = norm.isPresent() ? norm.get().apply(pass, entering) : entering;
        if (mixers.isEmpty()) {
            return normed;
        }
        List<Signal> parts = new ArrayList<>();
        for (Mixer mixer : mixers) {
            parts.add(mixer.forward(pass, normed));
        }
        return pass.sum(parts, Optional.empty());
    }

    /** All weights, of every rank, the norm's included. */
    public List<WeightSource> weights() {
        List<WeightSource> all = new ArrayList<>();
        mapped((role, weight) -> {
            all.add(weight);
            return weight;
        });
        return all;
    }

    /** The same with other weights. */
    public Block mapped(WeightMap map) {
        Optional<SharedTransformer> transformer = shared.map(before -> before.mapped(map.under("shared.")));
        Optional<PreNorm> front = norm.map(before -> before.mapped(map.under("norm.")));
        List<Mixer> changed = new ArrayList<>();
        for (int i = 0; i < mixers.size(); i++) {
            changed.add(mixers.get(i).mapped(map.under("mixer " + i + " ")));
        }
        return new Block(layer, kind, transformer, front, List.copyOf(changed), notRun);
    }

    /** The same with another norm. */
    public Block withNorm(PreNorm other) {
        return new Block(layer, kind, shared, Optional.of(other), mixers, notRun);
    }

    /** The same with one mixer replaced. */
    public Block withMixer(int index, Mixer other) {
        List<Mixer> changed = new ArrayList<>(mixers);
        changed.set(index, other);
        return new Block(layer, kind, shared, norm, List.copyOf(changed), notRun);
    }

    /** The same, whose Mamba-2 mixers take other time steps. */
    Block withTimeStep(TimeStep step) {
        Block changed = this;
        for (int i = 0; i < mixers.size(); i++) {
            if (mixers.get(i) instanceof Mamba2Mixer mixer) {
                changed = changed.withMixer(i, mixer.withTimeStep(step));
            }
        }
        return changed;
    }

    /** The same, which cannot be run. */
    public Block notRun(String reason) {
        return new Block(layer, kind, shared, norm, mixers, Optional.of(reason));
    }
}
