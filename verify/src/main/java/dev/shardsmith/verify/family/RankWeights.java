package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The same layer on every tensor-parallel rank.
 *
 * @param ranks in rank order
 */
record RankWeights(List<NamedWeights> ranks) {

    RankWeights under(String prefix) {
        return new RankWeights(ranks.stream().map(rank -> rank.under(prefix)).toList());
    }

    /** The first rank, for what is the same on all of them and for biases that only it adds. */
    NamedWeights first() {
        return ranks.get(0);
    }

    int count() {
        return ranks.size();
    }

    boolean has(String name) {
        return first().has(name);
    }

    /** Whether the first rank has any weight whose name begins like this. */
    boolean hasUnder(String prefix) {
        String whole = first().prefix() + prefix;
        return first().names().stream().anyMatch(name -> name.startsWith(whole));
    }

    /** The first of these weights that the first rank has. */
    Optional<WeightSource> any(String... names) {
        for (String name : names) {
            if (first().has(name)) {
                return first().find(name);
            }
        }
        return Optional.empty();
    }

    /** The weight of a name on every rank. */
    List<WeightSource> all(String name) throws CheckpointException {
        List<WeightSource> found = new ArrayList<>();
        for (NamedWeights rank : ranks) {
            found.add(rank.get(name));
        }
        return found;
    }

    /** The sum of one dimension over all ranks. */
    int total(String name, int dim) throws CheckpointException {
        int total = 0;
        for (NamedWeights rank : ranks) {
            total += rank.size(name, dim);
        }
        return total;
    }
}
