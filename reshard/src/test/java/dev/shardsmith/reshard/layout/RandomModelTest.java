package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.sample.DeltaSizes;
import dev.shardsmith.reshard.sample.LatentSizes;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.sample.SampleSpec.Kind;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random hybrid models in random parallel layouts, against a divider that knows nothing of the product's rules. */
class RandomModelTest {
    private static final Pattern RANK = Pattern.compile("iter_\\d+/mp_rank_(\\d+)(?:_\\d+)*/model_optim_rng\\.pt");

    @TempDir
    Path folder;

    /** A model and the sizes of a layout that divides it. */
    record Case(
            SampleSpec spec, int tensor, int pipeline, int virtual, int expert, int expertTensor, ExpertForm form) {}

    @Test
    void everyPlannedShardIsWhatASlowDividerGives() {
        Cases.forAll(1000, random -> checkPlan(unpacked(inFolders(randomCase(random)))));
    }

    @Test
    @Tag("soak")
    void everyPlannedShardIsWhatASlowDividerGivesManyTimes() {
        Cases.forAll(10_000, random -> checkPlan(unpacked(inFolders(randomCase(random)))));
    }

    @Test
    void everyModelComesBackFromFilesBitForBit() {
        Cases.forAll(40, random -> {
            Case first = inFolders(randomCase(random));
            Case second = layoutOf(first.spec(), random);
            Path root = Files.createTempDirectory(folder, "case");
            try (ModelView sample = SampleModel.of(first.spec())) {
                PlanExecutor.execute(
                        Conversion.plan(sample, options(first, Layout.MEGATRON)),
                        root.resolve("a"),
                        ExecutionOptions.defaults());
            }
            Layout between = random.nextBoolean() ? Layout.TORCH_DIST : Layout.MEGATRON;
            Case through = between == Layout.MEGATRON ? inFolders(second) : second;
            convert(root.resolve("a"), root.resolve("b"), options(through, between));
            convert(root.resolve("b"), root.resolve("c"), options(first, Layout.MEGATRON));
            assertThat(files(root.resolve("c"))).isEqualTo(files(root.resolve("a")));
        });
    }

    private static void convert(Path from, Path to, ConversionOptions options) throws IOException {
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            PlanExecutor.execute(Conversion.plan(source, options), to, ExecutionOptions.defaults());
        }
    }

    /** Digests of all tensors as each rank holds them. */
    private static Map<String, String> files(Path root) throws IOException {
        Map<String, String> found = new LinkedHashMap<>();
        try (ModelView view = Checkpoints.open(root, OpenOptions.defaults())) {
            for (var rank : view.ranks()) {
                for (LogicalTensor tensor : rank.tensors().values()) {
                    found.put(
                            rank.tensor() + "," + rank.pipeline() + "," + rank.virtual() + "," + rank.expert() + " "
                                    + tensor.name(),
                            tensor.shape() + Tensors.sha256(tensor));
                }
            }
        }
        return found;
    }

    static ConversionOptions options(Case wanted, Layout layout) {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.tensor = OptionalInt.of(wanted.tensor());
        options.pipeline = OptionalInt.of(wanted.pipeline());
        options.virtual = OptionalInt.of(wanted.virtual());
        options.expert = OptionalInt.of(wanted.expert());
        options.expertTensor = OptionalInt.of(wanted.expertTensor());
        if (layout == Layout.MEGATRON && wanted.spec().pattern().contains("E")) {
            options.experts = Optional.of(wanted.form());
        }
        return options.build();
    }

    /** The same, with experts divided as dense layers are where rank folders have no names for anything else. */
    private static Case inFolders(Case any) {
        boolean expressible =
                any.tensor() % any.expertTensor() == 0 && any.expert() * any.expertTensor() >= any.tensor();
        int expertTensor = expressible ? any.expertTensor() : any.tensor();
        return new Case(
                any.spec(), any.tensor(), any.pipeline(), any.virtual(), any.expert(), expertTensor, any.form());
    }

    /** The same with a tensor for each expert. */
    private static Case unpacked(Case any) {
        ExpertForm form = any.spec().groupedExperts() ? ExpertForm.GROUPED : ExpertForm.SEQUENTIAL;
        return new Case(
                any.spec(), any.tensor(), any.pipeline(), any.virtual(), any.expert(), any.expertTensor(), form);
    }

    private static void checkPlan(Case wanted) throws IOException {
        try (ModelView sample = SampleModel.of(wanted.spec())) {
            Plan plan = Conversion.plan(sample, options(wanted, Layout.MEGATRON));
            assertThat(plan.ledger().balanced()).isTrue();
            Map<String, LogicalTensor> tensors = sample.tensors();
            for (TensorMove move : plan.moves()) {
                LogicalTensor tensor = tensors.get(move.tensor());
                if (tensor == null || tensor.shape().elements() > 1 << 14) {
                    continue;
                }
                int[] whole = numbered(tensor.shape());
                for (Map.Entry<TargetSlot, int[]> shard : shards(move).entrySet()) {
                    Matcher path = RANK.matcher(shard.getKey().file());
                    assertThat(path.matches()).isTrue();
                    int world = move.tensor().contains(".mlp.experts.") ? wanted.expertTensor() : wanted.tensor();
                    int[] expected = SlowDivider.shard(
                            wanted.spec(),
                            move.tensor(),
                            tensor.shape(),
                            whole,
                            Integer.parseInt(path.group(1)) % world,
                            world);
                    assertThat(shard.getValue())
                            .as(move.tensor() + " in " + shard.getKey().file())
                            .isEqualTo(expected);
                }
            }
        }
    }

    private static int[] numbered(Shape shape) {
        int[] numbers = new int[(int) shape.elements()];
        Arrays.setAll(numbers, i -> i);
        return numbers;
    }

    /** The number of the logical element that each place of each slot gets. */
    private static Map<TargetSlot, int[]> shards(TensorMove move) {
        Map<TargetSlot, int[]> shards = new LinkedHashMap<>();
        for (Piece piece : move.targets()) {
            StoredTensor view = piece.data();
            TargetSlot slot = slot(view);
            int width = view.dtype().byteSize();
            int[] places = shards.computeIfAbsent(slot, key -> {
                int[] empty = new int[(int) (key.size() / width)];
                Arrays.fill(empty, -1);
                return empty;
            });
            long[] local = view.shape().rowMajorStrides();
            long[] logical = move.shape().rowMajorStrides();
            for (long i = 0; i < view.shape().elements(); i++) {
                long to = view.offset() / width;
                long number = 0;
                for (int dim = 0; dim < local.length; dim++) {
                    long index = i / local[dim] % view.shape().size(dim);
                    to += index * view.strides()[dim];
                    number += (piece.at()[dim] + index) * logical[dim];
                }
                assertThat(places[(int) to]).as("written once").isEqualTo(-1);
                places[(int) to] = (int) number;
            }
        }
        return shards;
    }

    private static TargetSlot slot(StoredTensor view) {
        return (TargetSlot) view.source();
    }

    static Case randomCase(RandomGenerator random) {
        int heads = 1 << random.nextInt(4);
        int queryGroups = 1 << random.nextInt(Integer.numberOfTrailingZeros(heads) + 1);
        int groups = 1 << random.nextInt(4);
        int mambaHeads = groups * (1 + random.nextInt(3));
        boolean gated = random.nextBoolean();
        Kind kind = random.nextInt(4) == 0 ? Kind.TRANSFORMER : Kind.HYBRID;
        SampleSpec spec = new SampleSpec(
                kind == Kind.HYBRID ? pattern(random) : transformerPattern(random),
                4 * (1 + random.nextInt(3)),
                8 * (1 + random.nextInt(6)),
                heads,
                queryGroups,
                2 * (1 + random.nextInt(2)),
                mambaHeads,
                1 + random.nextInt(3),
                groups,
                1 + random.nextInt(3),
                8 * (1 + random.nextInt(3)),
                gated,
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                1 << random.nextInt(3),
                8 * (1 + random.nextInt(2)),
                random.nextBoolean() ? 8 : 0,
                random.nextBoolean(),
                random.nextBoolean() ? DType.BF16 : DType.F32,
                random.nextLong());
        return layoutOf(spec.as(kind, latent(random), delta(random)), random);
    }

    private static LatentSizes latent(RandomGenerator random) {
        return new LatentSizes(
                random.nextInt(4) == 0 ? 0 : 8 * (1 + random.nextInt(2)),
                8 * (1 + random.nextInt(2)) + 4,
                1 + random.nextInt(3),
                4 * (1 + random.nextInt(3)),
                1 + random.nextInt(3),
                random.nextBoolean(),
                random.nextBoolean(),
                1 + random.nextInt(3),
                2 + random.nextInt(3));
    }

    private static DeltaSizes delta(RandomGenerator random) {
        int keyHeads = 1 << random.nextInt(4);
        return new DeltaSizes(
                keyHeads,
                1 + random.nextInt(3),
                keyHeads * (1 + random.nextInt(2)),
                1 + random.nextInt(3),
                2 + random.nextInt(3));
    }

    /** Any kinds of layers, with or without blocks that predict further tokens; plain and latent attention never together. */
    private static String pattern(RandomGenerator random) {
        String kinds = random.nextBoolean() ? "MM*-EG" : "M+D-EG";
        StringBuilder pattern = new StringBuilder();
        int layers = 1 + random.nextInt(8);
        for (int layer = 0; layer < layers; layer++) {
            pattern.append(kinds.charAt(random.nextInt(kinds.length())));
        }
        if (random.nextInt(3) == 0) {
            String prediction = "/" + kinds.charAt(random.nextInt(kinds.length())) + "-";
            pattern.append(prediction.repeat(1 + random.nextInt(2)));
        }
        return pattern.toString();
    }

    /** As many layers of attention and MLP, or of attention and experts. */
    private static String transformerPattern(RandomGenerator random) {
        String layer = random.nextBoolean() ? "*-" : "*E";
        String prediction = random.nextInt(3) == 0 ? "/" + layer : "";
        return layer.repeat(1 + random.nextInt(6)) + prediction;
    }

    static Case layoutOf(SampleSpec spec, RandomGenerator random) {
        List<Integer> tensors = new ArrayList<>();
        for (int tensor : new int[] {1, 2, 4, 8}) {
            if (divides(spec, tensor)) {
                tensors.add(tensor);
            }
        }
        int tensor = tensors.get(random.nextInt(tensors.size()));
        String main = spec.pattern().replaceFirst("/.*", "");
        int layers = main.length() / (spec.kind() == Kind.TRANSFORMER ? 2 : 1);
        int pipeline = 1 + random.nextInt(Math.min(4, layers));
        boolean interleaves = spec.kind() == Kind.HYBRID ? layers >= 2 * pipeline : layers % (2 * pipeline) == 0;
        int virtual = pipeline > 1 && interleaves && random.nextInt(3) == 0 ? 2 : 1;
        boolean experts = spec.pattern().contains("E");
        int expert = experts && random.nextBoolean() ? (int) Math.min(2, spec.experts()) : 1;
        int expertTensor = experts && random.nextBoolean() ? 1 << random.nextInt(3) : tensor;
        ExpertForm form = ExpertForm.values()[random.nextInt(spec.bias() ? 3 : 4)];
        return new Case(spec, tensor, pipeline, virtual, expert, expertTensor, form);
    }

    private static boolean divides(SampleSpec spec, int tensor) {
        String kinds = spec.pattern();
        LatentSizes latent = spec.latent();
        boolean mixers = !kinds.contains("M") || spec.mambaGroups() % tensor == 0;
        boolean nets = !kinds.contains("G") || spec.delta().keyHeads() % tensor == 0;
        boolean anyAttention = kinds.contains("*") || kinds.contains("+") || kinds.contains("D");
        boolean heads = !anyAttention || spec.heads() % tensor == 0;
        boolean queries = spec.queryGroups() % tensor == 0 || tensor % spec.queryGroups() == 0;
        boolean down = !latent.fusedDown()
                || latent.queryRank() % tensor == 0 && (latent.keyValueRank() + latent.positionDim()) % tensor == 0;
        boolean rows = spec.vocabulary() % tensor == 0
                && spec.hidden() % tensor == 0
                && (spec.heads() + 2 * spec.queryGroups()) * spec.headDim() % tensor == 0;
        boolean widths = spec.ffn() % tensor == 0 && spec.expertFfn() % tensor == 0;
        return mixers && nets && heads && queries && down && rows && widths;
    }
}
