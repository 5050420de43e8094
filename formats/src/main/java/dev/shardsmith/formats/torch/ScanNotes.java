package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleListener;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Collects what a scan meets. */
final class ScanNotes {
    private final List<ScanReport.ScannedFile> files = new ArrayList<>();
    private final Map<String, ScanReport.GlobalUse> globals = new LinkedHashMap<>();
    private final Set<ScanReport.Finding> findings = new LinkedHashSet<>();
    private boolean complete = true;

    void file(String name, FileKind kind) {
        files.add(new ScanReport.ScannedFile(name, kind, complete));
    }

    /** Begins a file; gives whether all before it was read. */
    boolean beginFile() {
        boolean before = complete;
        complete = true;
        return before;
    }

    void endFile(boolean before) {
        complete &= before;
    }

    void danger(String code, String where, long offset, String message) {
        findings.add(new ScanReport.Finding(code, ScanReport.Severity.DANGER, where, offset, message));
    }

    void warning(String code, String where, long offset, String message) {
        findings.add(new ScanReport.Finding(code, ScanReport.Severity.WARNING, where, offset, message));
    }

    void unread(String where, CheckpointException reason) {
        unread(where, reason.problem() + (reason.where().isEmpty() ? "" : " (" + reason.where() + ")"));
    }

    void unread(String where, String reason) {
        complete = false;
        findings.add(new ScanReport.Finding("unread", ScanReport.Severity.UNREAD, where, 0, reason));
    }

    /** A listener that notes the names and calls of one pickle. */
    PickleListener listener(String where) {
        return new PickleListener() {
            @Override
            public void imported(PyGlobal global, long offset) {
                String name = global.qualifiedName();
                ScanReport.GlobalUse seen = globals.get(name);
                if (seen != null) {
                    globals.put(name, again(seen, seen.risk()));
                    return;
                }
                GlobalRisk risk =
                        CallPolicy.dependsOnArguments(global) ? GlobalRisk.UNKNOWN : GlobalPolicy.riskOf(global);
                globals.put(name, new ScanReport.GlobalUse(name, risk, 1, where, offset));
                judge(global, risk, where, offset);
            }

            @Override
            public void called(PyObject.Kind kind, PyValue callable, PyValue args, long offset) {
                if (callable instanceof PyGlobal global
                        && CallPolicy.dependsOnArguments(global)
                        && CallPolicy.riskOfCall(global, args) == GlobalRisk.DANGEROUS) {
                    globals.computeIfPresent(global.qualifiedName(), (name, use) -> again(use, GlobalRisk.DANGEROUS));
                    judge(global, GlobalRisk.DANGEROUS, where, offset);
                }
            }

            @Override
            public void built(PyObject object, long offset) {
                // The class of the object was judged when it was named.
            }
        };
    }

    private static ScanReport.GlobalUse again(ScanReport.GlobalUse use, GlobalRisk risk) {
        GlobalRisk worse = risk.compareTo(use.risk()) > 0 ? risk : use.risk();
        return new ScanReport.GlobalUse(use.name(), worse, use.uses() + 1, use.where(), use.offset());
    }

    private void judge(PyGlobal global, GlobalRisk risk, String where, long offset) {
        switch (risk) {
            case DANGEROUS ->
                danger("dangerous-global", where, offset, "loading would reach " + global.qualifiedName());
            case UNKNOWN ->
                warning("unknown-global", where, offset, "loading would run code of " + global.qualifiedName());
            case ALLOWED, KNOWN -> {
                // Nothing speaks against these.
            }
        }
    }

    ScanReport report() {
        List<ScanReport.Finding> worstFirst = new ArrayList<>(findings);
        worstFirst.sort(Comparator.comparing(ScanReport.Finding::severity));
        List<ScanReport.GlobalUse> riskiestFirst = new ArrayList<>(globals.values());
        riskiestFirst.sort(Comparator.comparing(ScanReport.GlobalUse::risk).reversed());
        boolean danger = findings.stream().anyMatch(finding -> finding.severity() == ScanReport.Severity.DANGER);
        ScanReport.Verdict verdict;
        if (danger || complete && !findings.isEmpty()) {
            verdict = ScanReport.Verdict.FINDINGS;
        } else {
            verdict = complete ? ScanReport.Verdict.CLEAN : ScanReport.Verdict.INCONCLUSIVE;
        }
        return new ScanReport(verdict, List.copyOf(files), List.copyOf(riskiestFirst), List.copyOf(worstFirst));
    }
}
