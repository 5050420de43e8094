package dev.shardsmith.verify.family;

import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;

/** Scalar factors of a configuration, folded into the weights that they act on. */
final class Scaling {
    private Scaling() {}

    /**
     * Factors of what an input projection gives, and one for its input: the bias takes the former alone.
     *
     * @param components of z, x, B, C, dt; all 1 if there are not five
     */
    static Mamba2Mixer rows(Mamba2Mixer mixer, float input, float[] components) {
        float[] factors = components.length == 5 ? components : new float[] {1, 1, 1, 1, 1};
        List<Mamba2Mixer.Shard> shards = new ArrayList<>();
        for (Mamba2Mixer.Shard s : mixer.shards()) {
            int inner = s.heads() * mixer.options().headDim();
            int groups = s.groups() * mixer.options().state();
            int[] sizes = {inner, inner, groups, groups, s.heads()};
            shards.add(new Mamba2Mixer.Shard(
                    s.heads(),
                    s.groups(),
                    s.bypass(),
                    scaled(s.inProj().scaled(input), mixer.width(), sizes, factors),
                    s.inBias().map(bias -> scaled(bias, 1, sizes, factors)),
                    s.conv(),
                    s.convBias(),
                    s.dtBias(),
                    s.aLog(),
                    s.d(),
                    s.norm(),
                    s.outProj()));
        }
        return new Mamba2Mixer(mixer.width(), mixer.options(), List.copyOf(shards), mixer.outBias());
    }

    /** Stretches of rows of {@code width} elements, each with its factor. */
    private static WeightSource scaled(WeightSource rows, int width, int[] sizes, float[] factors) {
        List<WeightSource> stretches = new ArrayList<>();
        int row = 0;
        for (int i = 0; i < sizes.length; i++) {
            stretches.add(rows.rows(width, row, sizes[i]).scaled(factors[i]));
            row += sizes[i];
        }
        return WeightSource.concat(stretches);
    }

    /** A factor of what the mixer gives. */
    static Mamba2Mixer output(Mamba2Mixer mixer, float factor) {
        List<Mamba2Mixer.Shard> shards = new ArrayList<>();
        for (Mamba2Mixer.Shard s : mixer.shards()) {
            shards.add(new Mamba2Mixer.Shard(
                    s.heads(),
                    s.groups(),
                    s.bypass(),
                    s.inProj(),
                    s.inBias(),
                    s.conv(),
                    s.convBias(),
                    s.dtBias(),
                    s.aLog(),
                    s.d(),
                    s.norm(),
                    s.outProj().scaled(factor)));
        }
        return new Mamba2Mixer(
                mixer.width(),
                mixer.options(),
                List.copyOf(shards),
                mixer.outBias().map(b -> b.scaled(factor)));
    }

    /** A factor of what the mixer is given. */
    static AttentionMixer input(AttentionMixer mixer, float factor) {
        List<AttentionMixer.Shard> shards = new ArrayList<>();
        for (AttentionMixer.Shard s : mixer.shards()) {
            shards.add(new AttentionMixer.Shard(
                    s.heads(),
                    s.keyHeads(),
                    s.mlp(),
                    s.inProj().scaled(factor),
                    s.inBias(),
                    s.conv(),
                    s.convBias(),
                    s.queryNorm(),
                    s.keyNorm(),
                    s.outProj()));
        }
        return new AttentionMixer(mixer.width(), mixer.options(), List.copyOf(shards), mixer.outBias());
    }

    /** A factor of what the mixer gives. */
    static AttentionMixer output(AttentionMixer mixer, float factor) {
        List<AttentionMixer.Shard> shards = new ArrayList<>();
        for (AttentionMixer.Shard s : mixer.shards()) {
            shards.add(new AttentionMixer.Shard(
                    s.heads(),
                    s.keyHeads(),
                    s.mlp(),
                    s.inProj(),
                    s.inBias(),
                    s.conv(),
                    s.convBias(),
                    s.queryNorm(),
                    s.keyNorm(),
                    s.outProj().scaled(factor)));
        }
        return new AttentionMixer(
                mixer.width(),
                mixer.options(),
                List.copyOf(shards),
                mixer.outBias().map(b -> b.scaled(factor)));
    }

    /** A factor of what the mixer gives. */
    static MlpMixer output(MlpMixer mixer, float factor) {
        List<MlpMixer.Shard> shards = new ArrayList<>();
        for (MlpMixer.Shard s : mixer.shards()) {
            shards.add(new MlpMixer.Shard(s.fc1(), s.fc1Bias(), s.fc2().scaled(factor)));
        }
        return new MlpMixer(
                mixer.width(),
                mixer.form(),
                mixer.activation(),
                List.copyOf(shards),
                mixer.outBias().map(b -> b.scaled(factor)));
    }
}
