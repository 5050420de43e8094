package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class ReferenceScanTest {

    static List<String> scans() {
        return ScanVectors.names();
    }

    @ParameterizedTest
    @MethodSource("scans")
    void agreesWithTheGoldenScans(String name) throws Exception {
        ReferenceScan.Result result = ReferenceScan.run(ScanVectors.problem(name));
        assertThat(ScanVectors.relative(result.y(), ScanVectors.expected(name, "y")))
                .isLessThan(1e-12);
        assertThat(ScanVectors.relative(result.finalState(), ScanVectors.expected(name, "final_state")))
                .isLessThan(1e-12);
    }
}
