package dev.shardsmith.formats.pickle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams that lie, and streams that merely look as if they did. */
class HostilePickleTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "APPEND to a tuple       | 80 02 29 4b 01 61 2e | appended to a tuple",
                "SETITEM on a list       | 80 02 5d 4b 01 4b 02 73 2e | put into a list",
                "SETITEMS on a string    | 80 02 58 01 00 00 00 61 28 4b 01 4b 02 75 2e | put into a string",
                "odd SETITEMS            | 80 02 7d 28 4b 01 75 2e | a key has no value",
                "BUILD on a dict         | 80 02 7d 7d 62 2e | a state is given to a dict",
                "REDUCE without a tuple  | 80 02 63 61 0a 62 0a 4b 01 52 2e | not a tuple",
                "a called number         | 80 02 4b 01 29 52 2e | an int is called",
                "missing mark            | 80 02 4b 01 74 2e | needs a mark",
                "empty stack             | 80 02 2e | needs a value",
                "value below a mark      | 80 02 4b 01 28 85 2e | needs a value",
                "missing memo entry      | 80 02 68 07 2e | memo entry 7",
                "unknown operation       | 80 02 ff 2e | 0xff is no pickle operation",
                "negative LONG4          | 80 02 8b ff ff ff ff 2e | integer of -1 bytes",
                "not UTF-8               | 80 02 58 02 00 00 00 c3 28 2e | not valid UTF-8",
                "overlong UTF-8          | 80 02 58 02 00 00 00 c0 80 2e | not valid UTF-8",
                "class named by numbers  | 80 04 4b 01 4b 02 93 2e | is named by an int",
            })
    void malformedStreamsAreRefusedWithTheirOffset(String name, String hex, String message) {
        assertThatThrownBy(() -> read(hex))
                .as(name)
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).isEqualTo(CheckpointException.Kind.MALFORMED);
                    assertThat(e.where()).contains("at byte ");
                })
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"80 06 4e 2e", "80 02 82 01 2e", "80 02 83 01 00 2e", "80 02 84 01 00 00 00 2e", "80 05 97 2e"})
    void whatRefersOutsideTheStreamIsUnsupported(String hex) {
        assertThatThrownBy(() -> read(hex))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.UNSUPPORTED));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "80 04 8d ff ff ff ff ff ff ff 7f",
                "80 04 8e 00 00 00 00 00 00 00 80",
                "80 02 58 ff ff ff 7f",
                "80 02 54 ff ff ff ff",
                "80 02 8b ff ff ff 7f",
                "80 04 95 ff ff ff ff ff ff ff ff",
                "80 02 5d 71"
            })
    void lengthsBeyondTheEndAreRefusedBeforeAnythingIsAllocated(String hex) {
        assertThatThrownBy(() -> read(hex))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.TRUNCATED));
    }

    @Test
    void hugeMemoNumbersCostNothing() throws IOException {
        PyTuple tuple = (PyTuple) read("80 02 4b 05 72 ff ff ff 7f 72 ff ff ff ff 6a ff ff ff 7f 86 2e");
        assertThat(tuple.items()).containsExactly(PyInt.of(5), PyInt.of(5));
    }

    @Test
    void nestingMillionsDeepIsReadAndWritten() throws IOException {
        int depth = 1_000_000;
        byte[] stream = new byte[2 + depth + depth - 1 + 1];
        stream[0] = (byte) 0x80;
        stream[1] = 2;
        Arrays.fill(stream, 2, 2 + depth, (byte) ']');
        Arrays.fill(stream, 2 + depth, stream.length - 1, (byte) 'a');
        stream[stream.length - 1] = '.';

        PyValue root = PickleReader.read(ByteSource.of("deep", stream)).value();
        PyValue again = PickleReader.read(ByteSource.of("deep", PickleWriter.write(root)))
                .value();

        int found = 0;
        while (again instanceof PyList list && !list.items().isEmpty()) {
            again = list.items().get(0);
            found++;
        }
        assertThat(found).isEqualTo(depth - 1);
    }

    @Test
    void sharingThatWouldExplodeStaysShared() throws IOException {
        StringBuilder text = new StringBuilder("80 02 5d ");
        for (int i = 0; i < 200; i++) {
            // A list of twice the list before.
            text.append("71 %02x 30 5d 68 %02x 61 68 %02x 61 ".formatted(i, i, i));
        }
        PyValue root = read(text + "2e");
        assertThat(PickleWriter.write(root).length).isLessThan(4000);
        int[] lists = {0};
        PyGraph.forEach(root, value -> lists[0]++);
        assertThat(lists[0]).isEqualTo(201);
    }

    @Test
    void limitsHoldAndCanBeRaised() throws IOException {
        byte[] lists = new byte[1003];
        Arrays.fill(lists, (byte) ']');
        lists[1002] = '.';
        ByteSource source = ByteSource.of("lists", lists);
        PickleLimits limits = PickleLimits.defaults();

        assertLimit(source, limits.withGraphBytes(1000), "memory");
        assertLimit(source, limits.withPickleBytes(1002), "longer than the limit of 1002 bytes");
        assertThat(PickleReader.read(source, 0, limits.withPickleBytes(1003)).end())
                .isEqualTo(1003);
        assertLimit(of("80 02 58 04 00 00 00 61 62 63 64 2e"), limits.withStringBytes(3), "string of 4 bytes");
        assertLimit(of("80 02 8a 03 01 01 01 2e"), limits.withIntBytes(2), "integer of 3 bytes");
        assertLimit(of("80 02 4e 71 00 71 01 2e"), limits.withMemoEntries(1), "memo");
        assertThat(PickleReader.read(of("80 02 4e 71 00 71 01 2e"), 0, limits.withMemoEntries(2))
                        .value())
                .isEqualTo(PyNone.NONE);
    }

    @Test
    void protocolZeroIsReadAsPythonTwoWroteIt() throws IOException {
        String text = "(dp0\nS'a\\x00\\n'\np1\n(lp2\nI01\naL5L\naF-2.5\naV\\u65e5\nasS\"b'\"\n(I1\nI2\nttp3\ns.";
        String fixed = text.replace("I2\nttp3", "I2\ntp3");
        PyDict dict = (PyDict) PickleReader.read(ByteSource.of("text", fixed.getBytes(StandardCharsets.US_ASCII)))
                .value();
        PyEntry first = dict.entries().get(0);
        assertThat(((PyBytes) first.key()).bytes()).isEqualTo(new byte[] {'a', 0, '\n'});
        assertThat(((PyList) first.value()).items())
                .containsExactly(PyBool.TRUE, PyInt.of(5), new PyFloat(-2.5), new PyStr("日"));
        assertThat(PythonText.string(dict.entries().get(1).key())).contains("b'");
        assertThat(((PyTuple) dict.entries().get(1).value()).items()).containsExactly(PyInt.of(1), PyInt.of(2));
    }

    @Test
    void unknownClassesStayAsTheyAre() throws IOException {
        PyObject object =
                new PyObject(PyObject.Kind.NEWOBJ, new PyGlobal("megatron.arguments", "Config"), PyTuple.EMPTY);
        PyDict state = new PyDict();
        state.put("lr", new PyFloat(0.1));
        object.addStep(new PyObject.State(state));

        PyObject read = (PyObject) PickleReader.read(ByteSource.of("x", PickleWriter.write(object)))
                .value();

        assertThat(GraphText.of(read)).isEqualTo(GraphText.of(object));
        assertThat(read.describe()).isEqualTo("a megatron.arguments.Config");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 999, 1000, 1001, 2000, 2001})
    void containersOfEverySizeSurviveInBatches(int size) throws IOException {
        PyList list = new PyList();
        PyDict dict = new PyDict();
        PyObject ordered =
                new PyObject(PyObject.Kind.REDUCE, new PyGlobal("collections", "OrderedDict"), PyTuple.EMPTY);
        for (int i = 0; i < size; i++) {
            list.items().add(PyInt.of(i));
            dict.put("k" + i, PyInt.of(i));
        }
        if (size > 0) {
            ordered.addStep(new PyObject.Items(dict.entries()));
        }
        PyTuple root = PyTuple.of(list, dict, ordered);
        PyValue read =
                PickleReader.read(ByteSource.of("x", PickleWriter.write(root))).value();
        assertThat(GraphText.of(read)).isEqualTo(GraphText.of(root));
    }

    private static void assertLimit(ByteSource source, PickleLimits limits, String message) {
        assertThatThrownBy(() -> PickleReader.read(source, 0, limits))
                .isInstanceOfSatisfying(
                        CheckpointException.class, e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.LIMIT))
                .hasMessageContaining(message);
    }

    private static ByteSource of(String hex) {
        return ByteSource.of("test", PickleVectorsTest.bytes(hex));
    }

    private static PyValue read(String hex) throws IOException {
        return PickleReader.read(of(hex)).value();
    }
}
