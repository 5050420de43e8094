package dev.shardsmith.verify.validate;

import java.util.List;
import java.util.Optional;

/**
 * The result of a validation.
 *
 * @param saved the pattern that the saved arguments stand for
 * @param given the pattern that the user gave
 * @param inferred the pattern that the weights have; with pipes where the stages are not even or the saved pattern has pipes
 * @param layers what the weights say, layer by layer
 * @param launch the options of the launch script, one by one; empty without a script
 * @param findings everything that is wrong or odd
 */
public record Validation(
        Optional<String> saved,
        Optional<String> given,
        Optional<String> inferred,
        List<LayerRow> layers,
        List<LaunchRow> launch,
        List<Finding> findings) {
    /** Copies the lists. */
    public Validation {
        layers = List.copyOf(layers);
        launch = List.copyOf(launch);
        findings = List.copyOf(findings);
    }

    /** Whether there is no error; warnings do not count. */
    public boolean valid() {
        return findings.stream().noneMatch(finding -> finding.severity() == Finding.Severity.ERROR);
    }
}
