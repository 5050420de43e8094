package dev.shardsmith.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class NameIndexTest {
    @Test
    void namesAreFoundByTheirNumbersHoweverTheyWereAdded() {
        NameIndex names = new NameIndex();
        for (int i = 0; i < 5000; i++) {
            if (i % 3 == 0) {
                names.append("name" + i);
            } else {
                assertThat(names.add("name" + i)).isTrue();
            }
        }
        names.append("last");

        for (int i = 0; i < 5000; i++) {
            assertThat(names.find("name" + i)).isEqualTo(i);
            assertThat(names.get(i)).isEqualTo("name" + i);
        }
        assertThat(names.find("last")).isEqualTo(5000);
        assertThat(names.find("name5000")).isEqualTo(-1);
        assertThat(names.names()).hasSize(5001).startsWith("name0", "name1").endsWith("last");
    }

    @Test
    void aNameThatIsThereIsNotAddedAgain() {
        NameIndex names = new NameIndex();
        names.append("a");

        assertThat(names.add("a")).isFalse();
        assertThat(names.add("b")).isTrue();
        assertThat(names.size()).isEqualTo(2);
    }

    @Test
    void namesOfOneHashCodeAreToldApart() {
        NameIndex names = new NameIndex();
        names.add("Aa");
        names.add("BB");

        assertThat("Aa".hashCode()).isEqualTo("BB".hashCode());
        assertThat(names.find("BB")).isEqualTo(1);
        assertThat(names.find("Aa")).isZero();
    }

    @Test
    void appendingANameTwiceIsAMistakeThatIsSeenWhenOneIsLookedFor() {
        NameIndex names = new NameIndex();
        names.append("a");
        names.append("a");

        assertThatThrownBy(() -> names.find("a")).isInstanceOf(IllegalStateException.class);
    }
}
