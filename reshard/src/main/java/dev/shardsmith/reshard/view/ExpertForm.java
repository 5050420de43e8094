package dev.shardsmith.reshard.view;

import java.util.Optional;

/** How the files of a Megatron model keep the weights of a layer's experts. */
public enum ExpertForm {
    /** A module for each expert: {@code experts.local_experts.3.linear_fc1.weight}. */
    SEQUENTIAL("sequential"),
    /** One module with a weight for each expert: {@code experts.linear_fc1.weight3}. */
    GROUPED("grouped"),
    /** One tensor of all experts along a leading axis: {@code experts.linear_fc1.weight}. */
    STACKED("stacked"),
    /** One tensor of the experts' transposed weights one after the other: {@code experts.weight1} and {@code weight2}. */
    FLAT("flat");

    private final String id;

    ExpertForm(String id) {
        this.id = id;
    }

    /** The name on the command line. */
    public String id() {
        return id;
    }

    /** The form of a name on the command line. */
    public static Optional<ExpertForm> of(String id) {
        for (ExpertForm form : values()) {
            if (form.id.equals(id)) {
                return Optional.of(form);
            }
        }
        return Optional.empty();
    }

    /** True if one stored tensor holds several experts. */
    public boolean packed() {
        return this == STACKED || this == FLAT;
    }
}
