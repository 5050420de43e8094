package dev.shardsmith.reshard.placement;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.family.MegatronDivisions;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.ParameterRule;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.PatternReading;
import dev.shardsmith.reshard.pattern.Stage;
import dev.shardsmith.reshard.pattern.StageChoice;
import dev.shardsmith.reshard.pattern.StageLayout;
import dev.shardsmith.reshard.pattern.StageTarget;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Deals the tensors of a model out to the ranks of a job. */
final class Placing {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final Pattern EXPERT = Pattern.compile(
            ".*\\.mlp\\.experts\\.(?:local_experts\\.(\\d{1,9})\\..*|linear_fc[12]\\.(?:weight|bias)(\\d{1,9}))");

    private final ModelView view;
    private final PlacementRequest request;
    private final MegatronDivisions divisions;
    private final Set<String> problems = new LinkedHashSet<>();
    private final int[] stageOfLayer;
    private final int experts;
    private final boolean tied;
    private final boolean predicts;

    Placing(ModelView view, PlacementRequest request) throws CheckpointException {
        if (view.family() != ModelView.Family.MEGATRON) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    view.path().toString(),
                    "placement is known for models of Megatron's family, not for "
                            + view.family().id());
        }
        this.view = view;
        this.request = request;
        boolean gated =
                view.state().args().map(args -> args.flag("swiglu", false)).orElse(false);
        this.divisions = MegatronDivisions.of(view.shapes(), gated, List.of());
        this.experts =
                view.tensors().keySet().stream().mapToInt(Placing::expert).max().orElse(-1) + 1;
        this.tied = !view.tensors().containsKey("output_layer.weight");
        this.predicts = view.tensors().keySet().stream().anyMatch(name -> name.startsWith("mtp."));
        this.stageOfLayer = stages();
        if (experts > 0 && experts % request.expert() != 0) {
            problems.add("%d experts do not divide by EP %d".formatted(experts, request.expert()));
        }
        if (experts > 0 && request.expertReplicas() == 0) {
            problems.add("%d GPUs do not divide by ETP %d x EP %d x PP %d"
                    .formatted(request.world(), request.expertTensor(), request.expert(), request.pipeline()));
        }
    }

    long parameters() {
        return view.tensors().values().stream()
                .mapToLong(tensor -> tensor.shape().elements())
                .sum();
    }

    TrainingBytes whole() {
        TrainingBytes sum = TrainingBytes.NONE;
        for (LogicalTensor tensor : view.tensors().values()) {
            sum = sum.plus(TrainingBytes.of(tensor.shape().elements(), weightBytes(tensor)));
        }
        return sum;
    }

    List<String> problems() {
        return List.copyOf(problems);
    }

    List<RankPlacement> ranks() {
        int expertRanks = experts > 0 ? request.expert() : 1;
        List<RankPlacement> ranks = new ArrayList<>();
        for (int pipeline = 0; pipeline < request.pipeline(); pipeline++) {
            for (int tensor = 0; tensor < request.tensor(); tensor++) {
                for (int expert = 0; expert < expertRanks; expert++) {
                    ranks.add(rank(tensor, pipeline, expert));
                }
            }
        }
        return ranks;
    }

    private RankPlacement rank(int tensor, int pipeline, int expert) {
        long denseCount = 0;
        long expertCount = 0;
        TrainingBytes dense = TrainingBytes.NONE;
        TrainingBytes ofExperts = TrainingBytes.NONE;
        for (LogicalTensor logical : view.tensors().values()) {
            int number = expert(logical.name());
            if (!heldBy(logical.name(), pipeline) || number >= 0 && owner(number) != expert) {
                continue;
            }
            long count = local(logical, tensor);
            TrainingBytes bytes = TrainingBytes.of(count, weightBytes(logical));
            if (number >= 0) {
                expertCount += count;
                ofExperts = ofExperts.plus(bytes);
            } else {
                denseCount += count;
                dense = dense.plus(bytes);
            }
        }
        int layers = 0;
        for (int stage : stageOfLayer) {
            layers += stage == pipeline ? 1 : 0;
        }
        long total = dense.total() + ofExperts.total();
        long distributed = dense.totalDistributed(request.denseReplicas())
                + ofExperts.totalDistributed(Math.max(1, request.expertReplicas()));
        return new RankPlacement(
                tensor, pipeline, expert, layers, denseCount, expertCount, dense, ofExperts, total, distributed);
    }

    private boolean heldBy(String name, int pipeline) {
        int last = request.pipeline() - 1;
        MegatronName parsed = MegatronName.parse(name);
        if (parsed.layer().isPresent()) {
            int layer = parsed.layer().getAsInt();
            return layer < stageOfLayer.length && stageOfLayer[layer] == pipeline;
        }
        if (name.equals(EMBEDDING)) {
            // A shared output layer, and prediction blocks, need a copy of the embedding on the last stage.
            return pipeline == 0 || pipeline == last && (tied || predicts);
        }
        return name.startsWith("embedding.") ? pipeline == 0 : pipeline == last;
    }

    private long local(LogicalTensor tensor, int rank) {
        Optional<MegatronDivisions.Entry> entry = divisions.get(tensor.name());
        if (entry.isEmpty()) {
            problems.add(tensor.name() + " is no known parameter; it is counted on every rank");
            return tensor.shape().elements();
        }
        boolean ofExpert = entry.get().world() == ParameterRule.World.EXPERT_TENSOR;
        int world = ofExpert ? request.expertTensor() : request.tensor();
        Division division = entry.get().division();
        if (division instanceof Division.Split split) {
            for (Component component : split.components()) {
                if (!component.dividesEvenly(world)) {
                    problems.add("%s: %s%d does not divide by %s %d"
                            .formatted(
                                    tensor.name(),
                                    component.name().isEmpty() ? "" : component.name() + " ",
                                    component.width(),
                                    ofExpert ? "ETP" : "TP",
                                    world));
                }
            }
        }
        return division.localShape(tensor.shape(), rank % world, world).elements();
    }

    private int[] stages() throws CheckpointException {
        int count = 0;
        for (String name : view.tensors().keySet()) {
            count = Math.max(count, MegatronName.parse(name).layer().orElse(-1) + 1);
        }
        int[] stages = new int[count];
        Optional<HybridPattern> pattern = pattern(count);
        if (pattern.isPresent()) {
            StageLayout layout = StageChoice.choose(
                            pattern.get(),
                            StageChoice.PatternField.LAYER_PATTERN,
                            StageTarget.of(request.pipeline(), request.virtual()))
                    .layout();
            for (int layer = 0; layer < count; layer++) {
                stages[layer] = layout.stageOf(layer).map(Stage::pp).orElse(0);
            }
            return stages;
        }
        List<Integer> counts = StageLayout.balanced(count, request.pipeline() * request.virtual());
        int layer = 0;
        for (int stage = 0; stage < counts.size(); stage++) {
            for (int i = 0; i < counts.get(stage); i++) {
                stages[layer++] = stage % request.pipeline();
            }
        }
        return stages;
    }

    private Optional<HybridPattern> pattern(int layers) {
        return view.pattern()
                .map(HybridPattern::read)
                .filter(PatternReading.Understood.class::isInstance)
                .map(reading -> ((PatternReading.Understood) reading).pattern())
                .filter(pattern -> pattern.layerCount() == layers);
    }

    private int owner(int expert) {
        return (int) ((long) expert * request.expert() / experts);
    }

    /** The number of the expert that a parameter belongs to, or -1. */
    private static int expert(String name) {
        Matcher matcher = EXPERT.matcher(name);
        if (!matcher.matches()) {
            return -1;
        }
        return Integer.parseInt(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
    }

    private static int weightBytes(LogicalTensor tensor) {
        return Math.max(1, tensor.dtype().bits() / 8);
    }
}
