package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.NemotronLayers;
import dev.shardsmith.reshard.family.NemotronNames;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.PatternReading;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Finds what a model lacks: what was missed when it was opened, and what its family's layers need. */
public final class Completeness {
    private Completeness() {}

    /** Everything that a checkpoint's model should have but has not, in the order of the model; empty if it is whole. */
    public static List<Gap> of(ModelView view) {
        List<Gap> gaps = new ArrayList<>();
        view.missing().forEach((name, reason) -> gaps.add(Gap.tensor(name, reason)));
        List<Glob> known = view.missing().keySet().stream().map(Glob::of).toList();
        List<Gap> further = switch (view.family()) {
            case MEGATRON -> MegatronGaps.of(view);
            case MAMBA_SSM -> MambaGaps.of(view);
            case HUGGINGFACE -> HuggingFaceExperts.gaps(view);
            case PLAIN -> List.of();
        };
        Optional<NemotronNames> nemotron = nemotron(view);
        Set<String> named = new HashSet<>();
        for (Gap gap : further) {
            if (named.add(gap.name()) && known.stream().noneMatch(glob -> isSame(glob, gap, nemotron))) {
                gaps.add(gap);
            }
        }
        return gaps;
    }

    /** The names of the files, if they are not those of the model. */
    private static Optional<NemotronNames> nemotron(ModelView view) {
        if (view.layout() != Layout.HUGGINGFACE) {
            return Optional.empty();
        }
        return view.pattern()
                .map(HybridPattern::read)
                .flatMap(reading -> reading instanceof PatternReading.Understood understood
                        ? Optional.of(NemotronNames.of(NemotronLayers.of(understood.pattern())))
                        : Optional.empty());
    }

    /** Whether a name that a reader missed is a gap's, under the names of the files. */
    private static boolean isSame(Glob missed, Gap gap, Optional<NemotronNames> nemotron) {
        if (missed.matches(gap.name()) || missed.text().equals(gap.name())) {
            return true;
        }
        if (nemotron.isEmpty()) {
            return false;
        }
        MegatronName name = MegatronName.parse(gap.name());
        if (name.layer().isPresent() && name.suffix().equals("*")) {
            return missed.text().contains("layers." + name.layer().getAsInt() + ".");
        }
        return nemotron.get().names(name).stream()
                .anyMatch(
                        other -> missed.matches(other) || missed.matches(other.replaceFirst("^backbone\\.", "model.")));
    }
}
