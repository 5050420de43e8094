package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.pattern.ArgumentRemark;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.util.ArrayList;
import java.util.List;

/** Collects findings. */
final class Findings {
    private final List<Finding> all = new ArrayList<>();

    void error(String code, String where, String message, String fix) {
        all.add(new Finding(code, Severity.ERROR, where, message, fix));
    }

    void error(String code, String where, String message, String fix, Finding.Effect effect) {
        all.add(new Finding(code, Severity.ERROR, where, message, fix, effect));
    }

    void warning(String code, String where, String message, String fix) {
        all.add(new Finding(code, Severity.WARNING, where, message, fix));
    }

    void info(String code, String where, String message) {
        all.add(new Finding(code, Severity.INFO, where, message, ""));
    }

    void add(Finding finding) {
        all.add(finding);
    }

    void add(String code, String where, ArgumentRemark remark) {
        Severity severity = switch (remark.severity()) {
            case ERROR -> Severity.ERROR;
            case WARNING -> Severity.WARNING;
            case INFO -> Severity.INFO;
        };
        all.add(new Finding(code, severity, where, remark.message(), remark.fix()));
    }

    List<Finding> all() {
        return List.copyOf(all);
    }
}
