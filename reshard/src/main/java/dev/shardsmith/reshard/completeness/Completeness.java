package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.NemotronNames;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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
        Set<String> named = new HashSet<>();
        for (Gap gap : further) {
            if (named.add(gap.name()) && known.stream().noneMatch(glob -> isSame(glob, gap, view.layout()))) {
                gaps.add(gap);
            }
        }
        return gaps;
    }

    /** Whether a name that a reader missed is a gap's, under the names of the layout. */
    private static boolean isSame(Glob missed, Gap gap, Layout layout) {
        if (missed.matches(gap.name()) || missed.text().equals(gap.name())) {
            return true;
        }
        if (layout != Layout.HUGGINGFACE) {
            return false;
        }
        MegatronName name = MegatronName.parse(gap.name());
        if (name.layer().isPresent() && name.suffix().equals("*")) {
            return missed.text().contains("layers." + name.layer().getAsInt() + ".");
        }
        return NemotronNames.names(name).stream()
                .anyMatch(
                        other -> missed.matches(other) || missed.matches(other.replaceFirst("^backbone\\.", "model.")));
    }
}
