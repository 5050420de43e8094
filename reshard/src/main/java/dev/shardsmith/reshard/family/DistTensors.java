package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The logical tensors of a torch_dist checkpoint in the order of the model, and names of other things that stand between them.
 *
 * <p>They are columns, as there may be a million.
 */
public final class DistTensors {
    /** Number of what is no tensor. */
    private static final int OTHER = -1;

    private static final int NONE = -1;

    // What was found, in the order of the files: by its number there.
    private final NameTable names = new NameTable();
    private final List<String> texts;
    private final List<Shape> shapes;
    private final ArrayList<DistTarget> targets;
    private int[] numbers;
    /** Indices of one or two leading axes; not there before the first that has one. */
    private long[] leading = {};

    /** Tensors that are not stored whole, by the number of their first part. */
    private final Map<Integer, DistParts> assembled = new HashMap<>();

    /** What was found first of each name, in the order of the model. */
    private int[] order = {};

    private int count;

    /** Room for this many without growing. */
    DistTensors(int expected) {
        texts = new ArrayList<>(expected);
        shapes = new ArrayList<>(expected);
        targets = new ArrayList<>(expected);
        numbers = new int[Math.max(16, expected)];
    }

    /** Adds a stored tensor, or one slice of it, under the name of the logical tensor that it is or is a part of. */
    void add(String name, int number, long first, long second, Shape shape, DistTarget target) {
        int at = add(name, number, shape, target);
        if (first != NONE && leading.length == 0) {
            leading = new long[2 * numbers.length];
            Arrays.fill(leading, NONE);
        }
        if (leading.length > 0) {
            leading[2 * at] = first;
            leading[2 * at + 1] = second;
        }
    }

    private int add(String name, int number, Shape shape, DistTarget target) {
        int at = texts.size();
        if (at == numbers.length) {
            numbers = Arrays.copyOf(numbers, 2 * at);
            if (leading.length > 0) {
                leading = Arrays.copyOf(leading, 4 * at);
                Arrays.fill(leading, 2 * at, 4 * at, NONE);
            }
        }
        names.add(name);
        texts.add(name);
        shapes.add(shape);
        targets.add(target);
        numbers[at] = number;
        return at;
    }

    /**
     * Puts together what is stored in parts, and all in order.
     *
     * @param others names of other things
     * @throws CheckpointException if a part is missing
     */
    DistTensors finish(Collection<String> others) throws CheckpointException {
        for (String other : others) {
            add(other, OTHER, Shape.SCALAR, DistTarget.whole(other));
        }
        order = MegatronOrder.of(names);
        int to = 0;
        while (to < order.length) {
            int begin = to++;
            while (to < order.length && isSame(order[begin], order[to])) {
                to++;
            }
            int head = order[begin];
            if (to - begin > 1 || !targets.get(head).part().isEmpty()) {
                List<DistParts.Found> parts = new ArrayList<>();
                for (int i = begin; i < to; i++) {
                    parts.add(new DistParts.Found(source(order[i]), shapes.get(order[i]), targets.get(order[i])));
                }
                assembled.put(head, DistParts.of(texts.get(head), parts));
            }
            order[count++] = head;
        }
        order = Arrays.copyOf(order, count);
        targets.clear();
        targets.trimToSize();
        return this;
    }

    private boolean isSame(int one, int other) {
        return numbers[one] != OTHER
                && numbers[other] != OTHER
                && names.prefix(one) == names.prefix(other)
                && names.suffix(one) == names.suffix(other);
    }

    /** How many tensors and others there are. */
    public int size() {
        return count;
    }

    /** True for what is no tensor. */
    public boolean isOther(int index) {
        return numbers[order[index]] == OTHER;
    }

    /** The name of a tensor, or of something else. */
    public String name(int index) {
        return texts.get(order[index]);
    }

    /** Sizes of an undivided tensor. */
    public Shape shape(int index) {
        DistParts parts = parts(index);
        return parts == null ? shapes.get(order[index]) : parts.shape();
    }

    /** The number of the stored tensor that holds it, or the first of its parts. */
    public int number(int index) {
        DistParts parts = parts(index);
        return parts == null ? numbers[order[index]] : parts.sources().get(0).number();
    }

    /** The places of a tensor; together they are the whole. */
    public List<DistSource> sources(int index) {
        DistParts parts = parts(index);
        return parts == null ? List.of(source(order[index])) : parts.sources();
    }

    /**
     * Names of tensors of which neither the table nor the user knows how they are divided; all others are checked.
     *
     * @param gatedByDefault whether MLPs are gated where no shape tells
     * @param userRules what the user says about parameters that the table does not know
     * @throws CheckpointException if a tensor does not have the shape that its division asks for
     */
    public List<String> unknown(boolean gatedByDefault, List<UserRule> userRules) throws CheckpointException {
        int[] tensors = new int[count];
        int[] found = new int[count];
        int size = 0;
        for (int i = 0; i < count; i++) {
            if (!isOther(i)) {
                found[size] = order[i];
                tensors[size++] = i;
            }
        }
        NameTable ofTensors = names.select(Arrays.copyOf(found, size));
        return MegatronDivisions.unknown(ofTensors, i -> shape(tensors[i]), gatedByDefault, userRules);
    }

    private DistParts parts(int index) {
        return assembled.isEmpty() ? null : assembled.get(order[index]);
    }

    private DistSource source(int found) {
        if (leading.length == 0 || leading[2 * found] == NONE) {
            return new DistSource(numbers[found], new long[0], 0);
        }
        long first = leading[2 * found];
        long second = leading[2 * found + 1];
        return new DistSource(numbers[found], second == NONE ? new long[] {first} : new long[] {first, second}, 0);
    }
}
