package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.verify.validate.Finding.Severity;
import java.util.List;

/** The findings of a validation by how bad they are, where a test expects just one. */
final class OnlyFinding {
    private OnlyFinding() {}

    static List<Finding> ofSeverity(Validation validation, Severity severity) {
        return validation.findings().stream()
                .filter(finding -> finding.severity() == severity)
                .toList();
    }

    static Finding onlyError(Altered altered) throws Exception {
        List<Finding> errors = ofSeverity(altered.validate(), Severity.ERROR);
        assertThat(errors).hasSize(1);
        return errors.get(0);
    }

    static Finding onlyWarning(Altered altered) throws Exception {
        Validation validation = altered.validate();
        assertThat(validation.valid()).isTrue();
        List<Finding> warnings = ofSeverity(validation, Severity.WARNING);
        assertThat(warnings).hasSize(1);
        return warnings.get(0);
    }
}
