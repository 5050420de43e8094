package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import org.junit.jupiter.api.Test;

final class ForwardCheckTest {

    @Test
    void neverCallsACorrectDivisionWrong() {
        Cases.forAll(200, random -> {
            HybridModel.Sizes sizes = HybridModel.randomSizes(random);
            HybridModel model = new HybridModel(random, sizes);
            int left = 1 << random.nextInt(2);
            int right = 1 << random.nextInt(1, 2 + (sizes.groups() == 4 ? 1 : 0));
            CheckReport report = new ForwardCheck(
                            CheckBackend.get(), model.model(left), model.model(right), CheckOptions.DEFAULT)
                    .run(row -> {});
            assertThat(report.firstDivergence())
                    .as("%s, TP %d and %d", sizes, left, right)
                    .isEmpty();
        });
    }
}
