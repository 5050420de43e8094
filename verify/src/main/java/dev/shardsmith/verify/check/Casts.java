package dev.shardsmith.verify.check;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Rounding;
import dev.shardsmith.verify.forward.WeightMap;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Makes weights comparable that one side stores in another element type.
 *
 * <p>A cast rounds each element once, to nearest. So both sides are rounded to the type of the other: where one side is a
 * cast of the other, whichever it is, the same numbers come out on both, and the results have to agree as closely as if the
 * types were equal. Where it is not, the numbers differ. Nothing is allowed for a cast.
 */
final class Casts {
    private final Set<String> notes = new LinkedHashSet<>();

    /**
     * Two models as they are compared.
     *
     * @param notes what was rounded, as sentences
     */
    record Sides(LayeredModel left, LayeredModel right, List<String> notes) {}

    /** Two models with their weights rounded as far as that is needed. */
    static Sides sides(LayeredModel left, LayeredModel right) {
        Casts casts = new Casts();
        LayeredModel a = left.mappedEnds(casts.of("first", left::mappedEnds, right::mappedEnds))
                .withBlocks(
                        casts.blocks("first", left.blocks(), right.blocks()),
                        casts.blocks("first", left.predictors(), right.predictors()));
        LayeredModel b = right.mappedEnds(casts.of("second", right::mappedEnds, left::mappedEnds))
                .withBlocks(
                        casts.blocks("second", right.blocks(), left.blocks()),
                        casts.blocks("second", right.predictors(), left.predictors()));
        return new Sides(a, b, List.copyOf(casts.notes));
    }

    private List<Block> blocks(String side, List<Block> own, List<Block> other) {
        List<Block> changed = new ArrayList<>(own);
        for (int i = 0; i < Math.min(own.size(), other.size()); i++) {
            Block a = own.get(i);
            Block b = other.get(i);
            changed.set(i, a.mapped(of(side, a::mapped, b::mapped)));
        }
        return List.copyOf(changed);
    }

    /** The types of each role of a side. */
    private static Map<String, Set<DType>> types(Consumer<WeightMap> weights) {
        Map<String, Set<DType>> types = new LinkedHashMap<>();
        weights.accept((role, weight) -> {
            types.computeIfAbsent(role, key -> new LinkedHashSet<>()).addAll(weight.types());
            return weight;
        });
        return types;
    }

    /**
     * How the weights of one side are taken.
     *
     * @param side what it is called
     * @param own hands a map to the weights of this side
     * @param other hands a map to the weights of the other side
     */
    private WeightMap of(String side, Consumer<WeightMap> own, Consumer<WeightMap> other) {
        Map<String, Set<DType>> ownTypes = types(own);
        Map<String, Set<DType>> otherTypes = types(other);
        return (role, weight) -> {
            Set<DType> mine = ownTypes.getOrDefault(role, Set.of());
            Set<DType> theirs = otherTypes.getOrDefault(role, Set.of());
            return theirs.isEmpty() || theirs.equals(mine) ? weight : rounded(side, weight, mine, theirs);
        };
    }

    /** The type of the widest range comes first: what is too large for the other one is so on both sides then. */
    private WeightSource rounded(String side, WeightSource weight, Set<DType> mine, Set<DType> theirs) {
        WeightSource rounded = weight;
        for (Rounding rounding : Rounding.values()) {
            DType type = rounding.type();
            boolean wanted = mine.contains(type) || theirs.contains(type);
            if (wanted && !rounded.types().equals(Set.of(type))) {
                rounded = rounded.rounded(rounding);
                if (theirs.contains(type)) {
                    notes.add("weights of the %s checkpoint are rounded to %s, as those of the other one are"
                            .formatted(side, type.torchName()));
                }
            }
        }
        return rounded;
    }
}
