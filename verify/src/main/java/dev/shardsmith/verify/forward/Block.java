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
 * @param norm in front of the mixers
 * @param mixers what runs side by side; their results are added
 */
public record Block(int layer, String kind, Optional<SharedTransformer> shared, PreNorm norm, List<Mixer> mixers) {

    /** A branch without a shared transformer. */
    public Block(int layer, String kind, PreNorm norm, List<Mixer> mixers) {
        this(layer, kind, Optional.empty(), norm, mixers);
    }

    /** What the branch adds to the residual stream. */
    public Signal branch(Pass pass, Signal hidden) throws IOException {
        Signal entering = hidden;
        if (shared.isPresent()) {
            entering = pass.add(hidden, shared.get().forward(pass, hidden), 1);
        }
        Signal normed = norm.apply(pass, entering);
        List<Signal> parts = new ArrayList<>();
        for (Mixer mixer : mixers) {
            parts.add(mixer.forward(pass, normed));
        }
        return pass.sum(parts, Optional.empty());
    }

    /** All weights, of every rank, the norm's included. */
    public List<WeightSource> weights() {
        List<WeightSource> all = new ArrayList<>();
        shared.ifPresent(transformer -> all.addAll(transformer.weights()));
        all.addAll(norm.weights());
        mixers.forEach(mixer -> all.addAll(mixer.weights()));
        return all;
    }

    /** The same with another norm. */
    public Block withNorm(PreNorm other) {
        return new Block(layer, kind, shared, other, mixers);
    }

    /** The same with one mixer replaced. */
    public Block withMixer(int index, Mixer other) {
        List<Mixer> changed = new ArrayList<>(mixers);
        changed.set(index, other);
        return new Block(layer, kind, shared, norm, List.copyOf(changed));
    }
}
