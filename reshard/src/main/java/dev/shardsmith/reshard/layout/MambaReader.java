package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.family.MambaDivisions;
import dev.shardsmith.reshard.family.MambaDivisions.Extent;
import dev.shardsmith.reshard.family.MambaNames;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Opens models of the mamba_ssm family: rank files, a whole {@code pytorch_model.bin}, or Hugging Face's Mamba and Mamba2. */
final class MambaReader {
    static final String EMBEDDING = "backbone.embedding.weight";
    static final String HEAD = "lm_head.weight";

    private final ModelViewBuilder view;
    private final MambaConfig config;
    private final List<UserRule> rules;

    private MambaReader(ModelViewBuilder view, MambaConfig config, List<UserRule> rules) {
        this.view = view;
        this.config = config;
        this.rules = rules;
    }

    /** Opens mamba_ssm files that were located. */
    static ModelView read(Path shown, MambaSsm location, FilePool pool, OpenOptions options) throws IOException {
        ModelViewBuilder view = new ModelViewBuilder(shown, pool, ModelView.Layout.MAMBA_SSM);
        Map<String, Object> fields = Map.of();
        if (location.config().isPresent()) {
            fields = Json.readObject(pool.file(location.config().get()));
        } else {
            view.addWarning("there is no config.json: groups and heads are taken for the defaults of mamba_ssm");
        }
        List<Map<String, StoredTensor>> ranks = new ArrayList<>();
        for (List<Path> files : location.ranks()) {
            WeightFiles weights = WeightFiles.open(pool, files, options.trailingBytes());
            weights.warnings().forEach(view::addWarning);
            weights.tellUnreadable(view);
            ranks.add(weights.tensors());
        }
        view.config(fields).description(location.explanation());
        MambaConfig config = MambaConfig.isOne(fields) || fields.isEmpty()
                ? new MambaConfig(fields)
                : MambaConfig.ofHuggingFace(fields);
        return new MambaReader(view, config, options.rules())
                .read(ranks, location.naming() == Naming.WHOLE ? Extent.WHOLE : Extent.RANKS);
    }

    /** Fills the view of a Hugging Face folder. */
    static ModelView readHuggingFace(
            ModelViewBuilder view, Map<String, Object> config, WeightFiles weights, List<UserRule> rules)
            throws IOException {
        return new MambaReader(view, MambaConfig.ofHuggingFace(config), rules)
                .read(List.of(weights.tensors()), Extent.WHOLE);
    }

    private ModelView read(List<Map<String, StoredTensor>> files, Extent extent) throws IOException {
        MambaNames names = MambaNames.of(files.get(0).keySet());
        names.remark().ifPresent(remark -> view.description(view.description() + ", " + remark));
        List<Map<String, StoredTensor>> ranks =
                files.stream().map(names::canonical).toList();
        RowBiases.check(ranks).forEach(view::addWarning);
        List<Map<String, Shape>> shapes = new ArrayList<>();
        for (Map<String, StoredTensor> rank : ranks) {
            Map<String, Shape> own = new LinkedHashMap<>();
            rank.forEach((name, data) -> own.put(name, data.shape()));
            shapes.add(own);
        }
        MambaDivisions divisions = MambaDivisions.measured(shapes, config, rules, extent);
        divisions.warnings().forEach(view::addWarning);
        view.storedUnlessKnown(divisions.shapes());
        boolean tied = tied(ranks.get(0));
        for (String name : ranks.get(0).keySet()) {
            Division division = divisions.divisions().get(name);
            if (division == null) {
                view.addUnknown(name);
                if (ranks.size() > 1) {
                    view.addWarning(name + ": no rule says how ranks share it; rank 0's is shown");
                }
                division = new Division.Replicated();
            }
            if (!(tied && name.equals(HEAD))) {
                view.add(merge(name, division, divisions.shapes().get(name), ranks, tied && name.equals(EMBEDDING)));
            }
        }
        for (int rank = 0; rank < ranks.size(); rank++) {
            Map<String, LogicalTensor> held = new LinkedHashMap<>();
            ranks.get(rank).forEach((name, data) -> held.put(name, LogicalTensor.whole(name, data)));
            view.addRank(new RankShard(rank, 0, 0, 0, held, ModelState.none()));
        }
        return view.family(Family.MAMBA_SSM)
                .parallelism(Parallelism.tensor(ranks.size()))
                .build();
    }

    private boolean tied(Map<String, StoredTensor> rank) {
        StoredTensor embedding = rank.get(EMBEDDING);
        StoredTensor head = rank.get(HEAD);
        if (embedding == null || config.saysTied() || head == null) {
            return embedding != null && config.tied();
        }
        return head.offset() == embedding.offset()
                && head.source().name().equals(embedding.source().name());
    }

    private static LogicalTensor merge(
            String name, Division division, Shape whole, List<Map<String, StoredTensor>> ranks, boolean withHead)
            throws CheckpointException {
        List<Piece> pieces = new ArrayList<>();
        List<Piece> replicas = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            StoredTensor data = ranks.get(rank).get(name);
            if (data == null || !division.heldBy(rank)) {
                if (data == null && division.heldBy(rank)) {
                    throw CheckpointException.of(
                            Kind.INCOMPLETE, name, "rank " + rank + " does not have this parameter");
                }
                continue;
            }
            if (data.dtype() != ranks.get(0).get(name).dtype()) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "rank " + rank + " stores it as " + data.dtype().torchName());
            }
            add(division, whole, rank, ranks.size(), data, pieces, replicas);
            StoredTensor head = withHead ? ranks.get(rank).get(HEAD) : null;
            if (head != null && head.shape().equals(data.shape())) {
                add(division, whole, rank, ranks.size(), head, replicas, replicas);
            }
        }
        return LogicalTensor.of(name, ranks.get(0).get(name).dtype(), whole, division.describe(), pieces, replicas);
    }

    private static void add(
            Division division,
            Shape whole,
            int rank,
            int world,
            StoredTensor data,
            List<Piece> pieces,
            List<Piece> replicas) {
        for (Placement placement : division.placements(whole, rank, world)) {
            Piece piece = new Piece(
                    placement.logical().offset(),
                    data.narrow(placement.local(), placement.logical().size()));
            boolean known = pieces.stream().anyMatch(other -> other.box().equals(piece.box()));
            (known && pieces != replicas ? replicas : pieces).add(piece);
        }
    }
}
