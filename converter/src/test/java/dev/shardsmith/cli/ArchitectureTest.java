package dev.shardsmith.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The direction of dependencies: converter, gpu-check, verify, reshard, formats, never the other way. */
@AnalyzeClasses(packages = "dev.shardsmith", importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {
    private static final String FORMATS = "dev.shardsmith.formats..";
    private static final String RESHARD = "dev.shardsmith.reshard..";
    private static final String VERIFY = "dev.shardsmith.verify..";
    private static final String GPU = "dev.shardsmith.gpu..";
    private static final String CLI = "dev.shardsmith.cli..";

    @ArchTest
    static final ArchRule formatsKnowsNobody = noClasses()
            .that()
            .resideInAPackage(FORMATS)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(RESHARD, VERIFY, GPU, CLI);

    @ArchTest
    static final ArchRule reshardKnowsFormatsAlone = noClasses()
            .that()
            .resideInAPackage(RESHARD)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(VERIFY, GPU, CLI);

    @ArchTest
    static final ArchRule verifyKnowsNoDevice = noClasses()
            .that()
            .resideInAPackage(VERIFY)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(GPU, CLI, "jcuda..");

    @ArchTest
    static final ArchRule gpuKnowsNoCommands = noClasses()
            .that()
            .resideInAPackage(GPU)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(CLI)
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule onlyGpuTouchesJcuda = noClasses()
            .that()
            .resideOutsideOfPackage(GPU)
            .should()
            .dependOnClassesThat()
            .resideInAPackage("jcuda..");

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.shardsmith.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule onlyMainEndsTheProcess = noClasses()
            .that()
            .doNotHaveFullyQualifiedName("dev.shardsmith.cli.Main")
            .should()
            .callMethod(System.class, "exit", int.class)
            .orShould()
            .accessField(System.class, "out")
            .orShould()
            .accessField(System.class, "err");

    @ArchTest
    static final ArchRule nothingBuildsObjectMappers = noClasses()
            .that()
            .resideOutsideOfPackage("dev.shardsmith.testdata..")
            .should()
            .dependOnClassesThat()
            .haveFullyQualifiedName("com.fasterxml.jackson.databind.ObjectMapper");
}
