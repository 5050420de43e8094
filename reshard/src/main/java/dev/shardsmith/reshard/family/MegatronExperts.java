package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.view.ExpertForm;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Numbers of experts: local to an expert-parallel rank in files, global in the undivided model.
 *
 * <p>Rank e of a group holds experts {@code e·n … e·n + n − 1}, n being how many each rank holds.
 */
public final class MegatronExperts {
    private final Map<String, Integer> perRank;

    private MegatronExperts(Map<String, Integer> perRank) {
        this.perRank = perRank;
    }

    /** Counts the experts of each layer in one rank's keys. */
    public static MegatronExperts of(Set<String> localKeys) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (String key : localKeys) {
            MegatronName name = MegatronName.parse(key);
            int number = MegatronTable.expertNumber(name.suffix());
            if (number >= 0) {
                counts.merge(name.prefix(), number + 1, Math::max);
            }
        }
        return new MegatronExperts(counts);
    }

    /** Experts of a layer that the rank holds; 0 if the layer has none. */
    public int perRank(String prefix) {
        return perRank.getOrDefault(prefix, 0);
    }

    /**
     * A parameter with its expert's global number.
     *
     * @param local the parameter as the file names it
     * @param name the same with the global number of its layer
     * @param rank expert-parallel rank that holds it
     */
    public MegatronName global(MegatronName local, MegatronName name, int rank) {
        int number = MegatronTable.expertNumber(name.suffix());
        return number < 0 ? name : withNumber(name, rank * perRank(local.prefix()) + number);
    }

    /** The expert's number of a parameter, or -1 if it belongs to no single expert. */
    public static int number(MegatronName name) {
        return MegatronTable.expertNumber(name.suffix());
    }

    /** The expert's number in a suffix, or -1 if it has none. */
    public static int number(String suffix) {
        return MegatronTable.expertNumber(suffix);
    }

    /** A suffix with {@code #} in place of its expert's number. */
    public static String withoutNumber(String suffix) {
        return MegatronTable.withoutExpertNumber(suffix);
    }

    /** A parameter of an expert as a form of experts names it; forms with several experts in a tensor are named as grouped ones. */
    static MegatronName named(MegatronName name, ExpertForm form) {
        String suffix = name.suffix();
        int number = number(name);
        String parameter = suffix.replaceFirst("^mlp\\.experts\\.(local_experts\\.\\d+\\.)?", "")
                .replaceFirst("\\d+$", "");
        String renamed = form == ExpertForm.SEQUENTIAL
                ? "mlp.experts.local_experts." + number + "." + parameter
                : "mlp.experts." + parameter + number;
        return new MegatronName(name.scope(), name.prefix(), renamed, name.layer());
    }

    /** The same parameter of another expert. */
    public static MegatronName withNumber(MegatronName name, int number) {
        String suffix = MegatronTable.withoutExpertNumber(name.suffix()).replace("#", Integer.toString(number));
        return new MegatronName(name.scope(), name.prefix(), suffix, name.layer());
    }
}
