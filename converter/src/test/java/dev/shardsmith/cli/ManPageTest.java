package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class ManPageTest {
    @Test
    void aPageHasTheUsualSectionsAndEveryOption() {
        for (Command command : Commands.all()) {
            List<String> page = ManPage.of(command);
            assertThat(page)
                    .contains(".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXIT STATUS")
                    .first()
                    .asString()
                    .startsWith(".TH SHARDSMITH\\-");
            for (var option : Shardsmith.optionsOf(command).getOptions()) {
                assertThat(String.join("\n", page))
                        .contains("\\-\\-" + option.getLongOpt().replace("-", "\\-"));
            }
        }
    }

    @Test
    void noLineOfTextIsTakenForAMacro() {
        List<String> macros = List.of(".TH", ".SH", ".TP", ".B", ".BR", ".PP", ".nf", ".fi", ".RS", ".RE");
        for (Command command : Commands.all()) {
            assertThat(ManPage.of(command)).allSatisfy(line -> assertThat(line).doesNotStartWith("'"));
            assertThat(ManPage.of(command))
                    .filteredOn(line -> line.startsWith("."))
                    .allSatisfy(line -> assertThat(macros).contains(line.split(" ")[0]));
        }
    }

    @Test
    void theOverviewNamesEveryCommandsPage() {
        String page = String.join("\n", ManPage.overview());

        Commands.names().forEach(name -> assertThat(page).contains("shardsmith\\-" + name + " (1)"));
    }
}
