package dev.shardsmith.reshard.layout;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** The numbers that make a model of the reference implementation, however many ranks share it. */
record MambaNumbers(
        int model,
        int layers,
        int[] attention,
        String kind,
        boolean mimo,
        int mimoRank,
        boolean outNorm,
        double rope,
        int states,
        int heads,
        int headDim,
        int groups,
        int bypass,
        boolean norm,
        boolean wideD,
        boolean bias,
        boolean convBias,
        int queryHeads,
        int keyHeads,
        int attentionDim,
        int attentionConv,
        int attentionMlp,
        boolean attentionBias,
        int mlpUnits,
        int mlpUnit,
        boolean mlpBias,
        boolean layerNorm,
        int vocabulary,
        int positions,
        boolean tied) {

    /** Random numbers that make a valid model. */
    static MambaNumbers random(RandomGenerator random) {
        return random(random, List.of(128, 128, 1, 3, 8, 12).get(random.nextInt(6)));
    }

    /** Random numbers that make a valid model whose MLP is divided in these units. */
    static MambaNumbers random(RandomGenerator random, int mlpUnit) {
        String kind = List.of("Mamba1", "Mamba2", "Mamba3").get(random.nextInt(3));
        int groups = 1 + random.nextInt(kind.equals("Mamba2") ? 6 : 3);
        int heads = groups * (1 + random.nextInt(4));
        int headDim = 2 * (1 + random.nextInt(3));
        int scan = heads * headDim;
        int bypass = kind.equals("Mamba2") && random.nextInt(3) == 0 ? scan : 0;
        int inner = scan + bypass;
        // d_model times expand (1 or 2) makes the inner width.
        int model = inner % 2 == 0 && random.nextBoolean() ? inner / 2 : inner;
        int keyHeads = 1 + random.nextInt(5);
        int layers = 1 + random.nextInt(3);
        int[] attention = random.nextBoolean() ? new int[] {random.nextInt(layers)} : new int[0];
        boolean mimo = kind.equals("Mamba3") && random.nextBoolean();
        return new MambaNumbers(
                model,
                layers,
                attention,
                kind,
                mimo,
                mimo ? 2 + random.nextInt(3) : 1,
                random.nextBoolean(),
                random.nextBoolean() ? 0.5 : 1.0,
                4 * (1 + random.nextInt(3)),
                heads,
                headDim,
                groups,
                bypass,
                random.nextBoolean(),
                random.nextInt(4) == 0,
                random.nextBoolean(),
                random.nextBoolean(),
                keyHeads * (1 + random.nextInt(4)),
                keyHeads,
                1 + random.nextInt(4),
                random.nextInt(3) == 0 ? 4 : 0,
                random.nextInt(3) == 0 ? 256 : 0,
                random.nextBoolean(),
                random.nextBoolean() ? 1 + random.nextInt(9) : 0,
                mlpUnit,
                random.nextInt(3) == 0,
                random.nextInt(4) == 0,
                8 * (1 + random.nextInt(12)),
                random.nextInt(4) == 0 ? 2 + random.nextInt(5) : 0,
                random.nextBoolean());
    }

    /** The config.json that the reference would have written. */
    Map<String, Object> config() {
        Map<String, Object> ssm = new LinkedHashMap<>();
        ssm.put("layer", kind());
        ssm.put("d_state", (long) states());
        ssm.put("expand", (long) (inner() / model()));
        if (!kind().equals("Mamba1")) {
            ssm.put("headdim", (long) headDim());
            ssm.put("ngroups", (long) groups());
        }
        if (bypass() > 0) {
            ssm.put("d_ssm", (long) scan());
        }
        ssm.put("rope_fraction", rope());
        Map<String, Object> attentionOptions = new LinkedHashMap<>();
        attentionOptions.put("num_heads", (long) queryHeads());
        attentionOptions.put("num_heads_kv", (long) keyHeads());
        attentionOptions.put("head_dim", (long) attentionDim());
        attentionOptions.put("mlp_dim", (long) attentionMlp());
        attentionOptions.put("d_conv", (long) attentionConv());
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("d_model", (long) model());
        config.put("d_intermediate", 128L * ((hidden() + 127) / 128));
        config.put("n_layer", (long) layers());
        config.put("vocab_size", (long) vocabulary() - 3);
        config.put("ssm_cfg", ssm);
        List<Object> indices = new ArrayList<>();
        for (int index : attention()) {
            indices.add((long) index);
        }
        config.put("attn_layer_idx", indices);
        config.put("attn_cfg", attentionOptions);
        config.put("tie_embeddings", tied());
        return config;
    }

    int scan() {
        return heads() * headDim();
    }

    int inner() {
        return scan() + bypass();
    }

    int hidden() {
        return mlpUnits() * mlpUnit();
    }
}
