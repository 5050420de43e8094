package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.AttentionSizes;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.family.MambaHybrid;
import dev.shardsmith.reshard.family.MambaHybridConfig;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.Parallelism;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A hybrid model of Megatron seen as one of mamba_ssm, and the other way round.
 *
 * <p>The tensors get other names and, where the families order rows differently, other pieces; the writers of the other family do the
 * rest. A row-parallel bias that Megatron has on all ranks is so written on rank 0 alone, and the other way round.
 *
 * @param view the model as one of the other family, on the same files
 * @param dropped what the other family has no place for
 * @param notes what a user should know
 */
record FamilyChange(ModelView view, List<Dropped> dropped, List<String> notes) {

    /** A Megatron model as one of mamba_ssm. */
    static FamilyChange toMamba(ModelView source) throws IOException {
        MegatronArgs args = source.state()
                .args()
                .orElseThrow(
                        () -> refused("the checkpoint has no saved options ('args'), from which config.json is made"));
        HybridPattern parsed = HybridPattern.parse(source.pattern()
                .orElseThrow(() -> refused("the checkpoint has no hybrid layer pattern: it is no hybrid model")));
        String pattern = parsed.withoutPipes().main().orElse("");
        Map<String, Shape> shapes = source.shapes();
        List<String> obstacles = MambaHybridConfig.obstacles(args, pattern, shapes);
        if (parsed.mtp().isPresent()) {
            obstacles.add("multi-token prediction (" + parsed.text() + ")");
        }
        refuse("mamba_ssm", obstacles);
        MambaHybrid hybrid = MambaHybrid.of(pattern).orElseThrow();
        Optional<AttentionSizes> attention = AttentionSizes.of(args);
        ModelViewBuilder view = new ModelViewBuilder(source.path(), source.files(), Layout.MAMBA_SSM);
        List<String> unknown = new ArrayList<>();
        for (LogicalTensor tensor : source.tensors().values()) {
            Optional<NamedPart> part = hybrid.part(MegatronName.parse(tensor.name()), tensor.shape(), attention);
            if (part.isEmpty()) {
                unknown.add(tensor.name() + " " + tensor.shape());
            } else {
                view.add(renamed(tensor, part.get().name(), part.get().shape(), links(part.get(), false)));
            }
        }
        if (!unknown.isEmpty()) {
            throw refused("mamba_ssm has no tensors for: " + String.join(", ", unknown));
        }
        boolean tied = args.tiedEmbeddings() && !shapes.containsKey("output_layer.weight");
        view.family(Family.MAMBA_SSM)
                .config(MambaHybridConfig.config(args, hybrid, shapes, tied).fields())
                .parallelism(Parallelism.tensor(source.parallelism().tensor()));
        List<Dropped> dropped = new ArrayList<>();
        for (String entry : source.state().entries().keySet()) {
            if (!entry.matches("model\\d*")) {
                dropped.add(new Dropped(entry, 0, 0, "mamba_ssm's files hold weights alone"));
            }
        }
        if (!source.extraStates().isEmpty()) {
            dropped.add(new Dropped(
                    source.extraStates().size() + " _extra_state", 0, 0, "mamba_ssm's modules have no such state"));
        }
        List<String> notes = MambaHybridConfig.differences(args).stream()
                .map(difference -> "not the same in mamba_ssm: " + difference)
                .toList();
        return new FamilyChange(view.build(), dropped, notes);
    }

    /** A model of mamba_ssm as one of Megatron. */
    static FamilyChange toMegatron(ModelView source) throws IOException {
        MambaConfig config = MambaConfig.isOne(source.config())
                ? new MambaConfig(source.config())
                : MambaConfig.ofHuggingFace(source.config());
        refuse("Megatron", MambaHybridConfig.obstacles(config, source.tensors().keySet()));
        String pattern = MambaHybrid.pattern(config.layers(), config.attentionLayers(), config.mlpChannels() > 0);
        MambaHybrid hybrid = MambaHybrid.of(pattern)
                .orElseThrow(() -> refused("config.json says that the model has no layers (n_layer)"));
        List<String> unknown = new ArrayList<>();
        Map<String, String> names = hybrid.megatron(source.tensors().keySet(), unknown);
        if (!unknown.isEmpty()) {
            throw refused("Megatron has no tensors for: " + String.join(", ", unknown));
        }
        Map<String, Shape> shapes = new LinkedHashMap<>();
        names.forEach((megatron, own) ->
                shapes.put(megatron, source.tensors().get(own).shape()));
        ModelState state = MambaHybridConfig.state(config, pattern, shapes);
        Optional<AttentionSizes> attention = state.args().flatMap(AttentionSizes::of);
        ModelViewBuilder view = new ModelViewBuilder(source.path(), source.files(), Layout.MEGATRON);
        for (Map.Entry<String, String> name : names.entrySet()) {
            LogicalTensor tensor = source.tensors().get(name.getValue());
            NamedPart part = hybrid.part(MegatronName.parse(name.getKey()), tensor.shape(), attention)
                    .orElseThrow(() -> CheckpointException.of(
                            Kind.INCONSISTENT,
                            tensor.name(),
                            "its shape " + tensor.shape() + " does not fit the heads in config.json"));
            view.add(renamed(tensor, name.getKey(), tensor.shape(), links(part, true)));
        }
        view.family(Family.MEGATRON)
                .state(state)
                .pattern(Optional.of(pattern))
                .parallelism(Parallelism.tensor(source.parallelism().tensor()));
        return new FamilyChange(view.build(), List.of(), List.of());
    }

    /** The plan with what this change adds to it. */
    Plan with(Plan plan) {
        List<Dropped> all = new ArrayList<>(plan.dropped());
        all.addAll(dropped);
        List<String> told = new ArrayList<>(plan.notes());
        told.addAll(notes);
        return new Plan(plan.files(), plan.moves(), plan.ledger(), all, told, plan.singleFile());
    }

    /** A box of one tensor and the equally large box of the other that it becomes. */
    private record Move(Box from, long[] to) {}

    private static List<Move> links(NamedPart part, boolean toMegatron) {
        return part.links().stream()
                .map(link -> toMegatron
                        ? new Move(
                                new Box(link.at(), link.logical().size()),
                                link.logical().offset())
                        : new Move(link.logical(), link.at()))
                .toList();
    }

    private static LogicalTensor renamed(LogicalTensor tensor, String name, Shape shape, List<Move> moves)
            throws IOException {
        return LogicalTensor.of(
                name,
                tensor.dtype(),
                shape,
                tensor.division(),
                moved(tensor.pieces(), moves),
                moved(tensor.replicas(), moves));
    }

    private static List<Piece> moved(List<Piece> pieces, List<Move> moves) {
        List<Piece> moved = new ArrayList<>();
        for (Piece piece : pieces) {
            for (Move move : moves) {
                Optional<Box> common = piece.box().intersect(move.from());
                if (common.isPresent()) {
                    long[] at = common.get().relativeTo(move.from().offset()).offset();
                    for (int dim = 0; dim < at.length; dim++) {
                        at[dim] += move.to()[dim];
                    }
                    moved.add(new Piece(at, piece.view(common.get())));
                }
            }
        }
        return moved;
    }

    private static void refuse(String family, List<String> obstacles) throws CheckpointException {
        if (!obstacles.isEmpty()) {
            throw refused(family + " has no equivalent of: " + String.join("; ", obstacles));
        }
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
