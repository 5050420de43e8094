package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.family.MegatronName.Scope;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Keys taken apart by hand, against regular expressions that say the same. */
class MegatronNameTest {
    private static final Pattern LAYER = Pattern.compile("(decoder\\.layers\\.(\\d{1,9})\\.)(.+)");
    private static final Pattern STACKED = Pattern.compile("decoder\\.layers\\.\\D.*");
    private static final Pattern EXPERT = Pattern.compile(
            "(?<=mlp\\.experts\\.local_experts\\.)\\d{1,9}(?=\\.)|(?<=mlp\\.experts\\.linear_fc[12]\\.(?:weight|bias))\\d{1,9}$");
    private static final List<String> WORDS = List.of(
            "decoder.layers.",
            "mlp.experts.",
            "local_experts.",
            "linear_fc1.weight",
            "linear_fc2.bias",
            "linear_fc3.bias",
            ".",
            "0",
            "12",
            "123456789",
            "1234567890",
            "\u0663",
            "x");

    @Test
    void layersAreThoseOfTheExpression() {
        for (String key : keys()) {
            Matcher layer = LAYER.matcher(key);
            MegatronName name = MegatronName.parse(key);

            assertThat(name.scope()).as(key).isEqualTo(layer.matches() ? Scope.LAYER : Scope.MODEL);
            assertThat(name.key()).isEqualTo(key);
            if (layer.matches()) {
                assertThat(name.prefix()).as(key).isEqualTo(layer.group(1));
                assertThat(name.layer()).as(key).hasValue(Integer.parseInt(layer.group(2)));
            }
            assertThat(DistKeys.isStacked(key))
                    .as(key)
                    .isEqualTo(STACKED.matcher(key).matches());
        }
    }

    @Test
    void numbersOfExpertsAreThoseOfTheExpression() {
        for (String key : keys()) {
            Matcher expert = EXPERT.matcher(key);
            int number = expert.find() ? Integer.parseInt(expert.group()) : -1;

            assertThat(MegatronTable.expertNumber(key)).as(key).isEqualTo(number);
            assertThat(MegatronTable.withoutExpertNumber(key))
                    .as(key)
                    .isEqualTo(EXPERT.matcher(key).replaceFirst("#"));
        }
    }

    /** Words in any order, and real keys with one word too many or too few. */
    private static List<String> keys() {
        Random random = new Random(5);
        List<String> keys = new ArrayList<>();
        List<String> real = List.of("decoder.layers.", "12", ".", "mlp.experts.", "local_experts.", "12", ".", "x");
        List<String> grouped = List.of("decoder.layers.", "0", ".", "mlp.experts.", "linear_fc1.weight", "12");
        for (int i = 0; i < 20_000; i++) {
            List<String> words = new ArrayList<>(i % 3 == 0 ? List.of() : i % 3 == 1 ? real : grouped);
            for (int change = random.nextInt(i % 3 == 0 ? 9 : 3); change >= 0; change--) {
                int at = random.nextInt(words.size() + 1);
                if (random.nextBoolean() && at < words.size()) {
                    words.remove(at);
                } else {
                    words.addAll(at, Collections.singletonList(WORDS.get(random.nextInt(WORDS.size()))));
                }
            }
            keys.add(String.join("", words));
        }
        return keys;
    }
}
