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
 * @param norm in front of the mixers
 * @param mixers what runs side by side; their results are added
 */
public record Block(int layer, String kind, PreNorm norm, List<Mixer> mixers) {

    /** What the branch adds to the residual stream. */
    public Signal branch(Pass pass, Signal hidden) throws IOException {
        Signal normed = norm.apply(pass, hidden);
        List<Signal> parts = new ArrayList<>();
        for (Mixer mixer : mixers) {
            parts.add(mixer.forward(pass, normed));
        }
        return pass.sum(parts, Optional.empty());
    }

    /** All weights, of every rank, the norm's included. */
    public List<WeightSource> weights() {
        List<WeightSource> all = new ArrayList<>();
        all.add(norm.weight());
        norm.bias().ifPresent(all::add);
        mixers.forEach(mixer -> all.addAll(mixer.weights()));
        return all;
    }

    /** The same with another norm. */
    public Block withNorm(PreNorm other) {
        return new Block(layer, kind, other, mixers);
    }

    /** The same with one mixer replaced. */
    public Block withMixer(int index, Mixer other) {
        List<Mixer> changed = new ArrayList<>(mixers);
        changed.set(index, other);
        return new Block(layer, kind, norm, List.copyOf(changed));
    }
}
