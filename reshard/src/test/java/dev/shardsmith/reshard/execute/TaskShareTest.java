package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class TaskShareTest {
    @Test
    void aShareIsWrittenAsIndexAndCount() throws CheckpointException {
        assertThat(TaskShare.parse("3/8", Map.of()))
                .isEqualTo(new TaskShare(3, 8))
                .hasToString("3/8");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "4/4", "-1/4", "a/4", "1/0", "1/2/3", "1/99999999999", "0/100001", "auto/2/3"})
    void anythingElseIsRefused(String text) {
        assertThatThrownBy(() -> TaskShare.parse(text, Map.of("JOB_COMPLETION_INDEX", "0")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("'" + text + "'");
    }

    @ParameterizedTest
    @CsvSource({
        "SLURM_PROCID, SLURM_NTASKS",
        "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE",
        "PMI_RANK, PMI_SIZE",
        "RANK, WORLD_SIZE"
    })
    void launchersTellRankAndSize(String rank, String size) throws CheckpointException {
        Map<String, String> environment = Map.of(rank, "5", size, "6");
        assertThat(TaskShare.fromEnvironment(environment)).contains(new TaskShare(5, 6));
        assertThat(TaskShare.parse("auto", environment)).isEqualTo(new TaskShare(5, 6));
    }

    @Test
    void aLauncherOfOneTaskOrWithNonsenseTellsNothing() {
        assertThat(TaskShare.fromEnvironment(Map.of("RANK", "0", "WORLD_SIZE", "1")))
                .isEmpty();
        assertThat(TaskShare.fromEnvironment(Map.of("RANK", "7", "WORLD_SIZE", "4")))
                .isEmpty();
        assertThat(TaskShare.fromEnvironment(Map.of("RANK", "x", "WORLD_SIZE", "4")))
                .isEmpty();
        assertThatThrownBy(() -> TaskShare.parse("auto", Map.of())).hasMessageContaining("no launcher");
    }

    @Test
    void anIndexedJobTellsTheIndexOnly() throws CheckpointException {
        assertThat(TaskShare.parse("auto/4", Map.of("JOB_COMPLETION_INDEX", "2")))
                .isEqualTo(new TaskShare(2, 4));
        assertThatThrownBy(() -> TaskShare.parse("auto/4", Map.of())).hasMessageContaining("JOB_COMPLETION_INDEX");
    }
}
