package dev.shardsmith.reshard.rule;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Box;
import java.util.ArrayList;
import java.util.List;

/** How a tensor is divided among the ranks of a group. */
public sealed interface Division {

    /** What rank {@code rank} of {@code world} holds of an undivided tensor; empty if it holds no shard at all. */
    List<Placement> placements(Shape logical, int rank, int world);

    /** The shape of a rank's shard of a tensor of shape {@code logical}. */
    Shape localShape(Shape logical, int rank, int world);

    /** True if the rank has the tensor's name among its own at all. */
    boolean heldBy(int rank);

    /** True if every rank holds all of it, so that the copies must be equal. */
    boolean replicated();

    /** The words of reports: {@code rows z,x,B,C,dt}. */
    String describe();

    /** Every rank holds the whole tensor. */
    record Replicated() implements Division {
        @Override
        public List<Placement> placements(Shape logical, int rank, int world) {
            return List.of(new Placement("", Box.whole(logical), new long[logical.rank()]));
        }

        @Override
        public Shape localShape(Shape logical, int rank, int world) {
            return logical;
        }

        @Override
        public boolean heldBy(int rank) {
            return true;
        }

        @Override
        public boolean replicated() {
            return true;
        }

        @Override
        public String describe() {
            return "replicated";
        }
    }

    /** Rank 0 holds the whole tensor, the others do not have it: the bias of mamba_ssm's row-parallel Linear. */
    record RankZeroOnly() implements Division {
        @Override
        public List<Placement> placements(Shape logical, int rank, int world) {
            return rank == 0 ? new Replicated().placements(logical, rank, world) : List.of();
        }

        @Override
        public Shape localShape(Shape logical, int rank, int world) {
            return logical;
        }

        @Override
        public boolean heldBy(int rank) {
            return rank == 0;
        }

        @Override
        public boolean replicated() {
            return false;
        }

        @Override
        public String describe() {
            return "rank 0 only";
        }
    }

    /**
     * Cut along one axis, component by component: a rank's shard is the concatenation of its slice of every component.
     *
     * @param axis the axis that is cut, 0 being the outermost
     * @param components parts along the axis in the order of the undivided tensor; their widths sum to its size
     */
    record Split(int axis, List<Component> components) implements Division {
        /** A cut; the list is copied. */
        public Split {
            components = List.copyOf(components);
        }

        @Override
        public List<Placement> placements(Shape logical, int rank, int world) {
            if (logical.size(axis) != width()) {
                throw new IllegalArgumentException(
                        "axis " + axis + " of " + logical + " for components of total width " + width());
            }
            List<Placement> placements = new ArrayList<>();
            long base = 0;
            long local = 0;
            for (Component component : components) {
                long length = component.length(rank, world);
                if (length > 0) {
                    long[] at = new long[logical.rank()];
                    at[axis] = local;
                    placements.add(new Placement(
                            component.name(),
                            Box.slice(logical, axis, base + component.start(rank, world), length),
                            at));
                }
                base += component.width();
                local += length;
            }
            return placements;
        }

        @Override
        public Shape localShape(Shape logical, int rank, int world) {
            long length = 0;
            for (Component component : components) {
                length += component.length(rank, world);
            }
            return logical.with(axis, length);
        }

        @Override
        public boolean heldBy(int rank) {
            return true;
        }

        @Override
        public boolean replicated() {
            return false;
        }

        /** Size of the undivided tensor along the axis. */
        public long width() {
            long sum = 0;
            for (Component component : components) {
                sum = Math.addExact(sum, component.width());
            }
            return sum;
        }

        @Override
        public String describe() {
            String what = axis == 0 ? "rows" : axis == 1 ? "columns" : "axis " + axis;
            if (components.size() == 1) {
                return what;
            }
            return what + " "
                    + String.join(",", components.stream().map(Component::name).toList());
        }
    }

    /**
     * Cut along one axis into parts whose lengths on each rank are given, as measured from a checkpoint or chosen for one.
     *
     * @param axis the axis that is cut
     * @param parts parts along the axis, in order
     */
    record Listed(int axis, List<Part> parts) implements Division {
        /**
         * A part of the axis.
         *
         * @param name the field's name of it
         * @param lengths elements that each rank holds
         * @param shared true if every rank holds all of it
         */
        public record Part(String name, List<Long> lengths, boolean shared) {
            /** A part; the list is copied. */
            public Part {
                lengths = List.copyOf(lengths);
            }

            /** Size along the axis in the undivided tensor. */
            public long width() {
                return shared ? lengths.get(0) : start(lengths.size());
            }

            private long start(int rank) {
                long sum = 0;
                for (int before = 0; before < rank; before++) {
                    sum = Math.addExact(sum, lengths.get(before));
                }
                return shared ? 0 : sum;
            }
        }

        /** A cut; the list is copied. */
        public Listed {
            parts = List.copyOf(parts);
        }

        @Override
        public List<Placement> placements(Shape logical, int rank, int world) {
            List<Placement> placements = new ArrayList<>();
            long base = 0;
            long local = 0;
            for (Part part : parts) {
                long length = part.lengths().get(rank);
                if (length > 0) {
                    long[] at = new long[logical.rank()];
                    at[axis] = local;
                    placements.add(
                            new Placement(part.name(), Box.slice(logical, axis, base + part.start(rank), length), at));
                }
                base += part.width();
                local += length;
            }
            return placements;
        }

        @Override
        public Shape localShape(Shape logical, int rank, int world) {
            long length = 0;
            for (Part part : parts) {
                length += part.lengths().get(rank);
            }
            return logical.with(axis, length);
        }

        @Override
        public boolean heldBy(int rank) {
            return true;
        }

        @Override
        public boolean replicated() {
            return false;
        }

        /** Size of the undivided tensor along the axis. */
        public long width() {
            return parts.stream().mapToLong(Part::width).sum();
        }

        @Override
        public String describe() {
            List<String> words = new ArrayList<>();
            for (Part part : parts) {
                words.add(
                        (part.name().isEmpty() ? "" : part.name() + " ") + (part.shared() ? "shared" : part.lengths()));
            }
            return (axis == 0 ? "rows " : axis == 1 ? "columns " : "axis " + axis + " ") + String.join(", ", words);
        }
    }
}
