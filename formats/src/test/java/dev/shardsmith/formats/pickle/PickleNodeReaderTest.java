package dev.shardsmith.formats.pickle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PickleNodeReaderTest {
    /** Takes the entries whose key is "take", and notes their values. */
    private static final class Taker implements PickleNodeConsumer {
        final List<PyValue> taken = new ArrayList<>();

        @Override
        public boolean entries(PickleNodes nodes, long[] references, int from, int to) throws PickleDeclinedException {
            if (from == to || !nodes.isText(references[from], "take")) {
                return false;
            }
            for (int i = from; i < to; i += 2) {
                taken.add(nodes.toValue(references[i + 1]));
            }
            return true;
        }

        @Override
        public boolean values(PickleNodes nodes, long[] references, int from, int to) {
            return false;
        }
    }

    private final Taker taker = new Taker();

    /** A stream: characters and numbers stand for bytes, a string for the operation that gives it. */
    private static byte[] stream(Object... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(Opcode.PROTO);
        out.write(4);
        for (Object part : parts) {
            if (part instanceof String text) {
                byte[] letters = text.getBytes(StandardCharsets.UTF_8);
                out.write(Opcode.SHORT_BINUNICODE);
                out.write(letters.length);
                out.writeBytes(letters);
            } else {
                out.write(part instanceof Character letter ? letter : (Integer) part);
            }
        }
        out.write(Opcode.STOP);
        return out.toByteArray();
    }

    private Optional<PyValue> read(byte[] stream) throws IOException {
        return PickleNodeReader.read(ByteSource.of("p", stream), 0, PickleLimits.defaults(), taker);
    }

    private static PyValue graph(byte[] stream) throws IOException {
        return PickleReader.read(ByteSource.of("p", stream)).value();
    }

    @ParameterizedTest
    @ValueSource(
            longs = {
                0,
                -1,
                255,
                256,
                65536,
                Integer.MIN_VALUE,
                (1L << 60) - 1,
                1L << 60,
                -(1L << 60),
                -(1L << 60) - 1,
                Long.MIN_VALUE,
                Long.MAX_VALUE
            })
    void integersOfEverySizeKeepTheirValue(long value) throws IOException {
        assertThat(read(PickleWriter.write(PyInt.of(value)))).contains(PyInt.of(value));
    }

    @Test
    void plainDataIsReadAsTheReaderOfGraphsReadsIt() throws IOException {
        PyObject object =
                new PyObject(PyObject.Kind.NEWOBJ, new PyGlobal("a.b", "C"), PyTuple.of(PyBool.TRUE, PyBool.FALSE));
        PyDict state = new PyDict();
        state.put("größe", new PyFloat(-0.0));
        state.put("", PyNone.NONE);
        object.addStep(new PyObject.State(state));
        PyObject call = new PyObject(PyObject.Kind.REDUCE, new PyGlobal("f", "g"), PyTuple.of(PyTuple.EMPTY));
        PyList list = new PyList(List.of(PyInt.of(1), PyTuple.of(PyInt.of(2), PyInt.of(3), PyInt.of(4), object), call));
        PyDict root = new PyDict();
        root.put("list", list);
        root.put("empty", new PyList(List.of()));
        root.put("dict", new PyDict());

        byte[] stream = PickleWriter.write(root);

        assertThat(GraphText.of(read(stream).orElseThrow())).isEqualTo(GraphText.of(graph(stream)));
    }

    @Test
    void whatTheMemoStillNeedsSurvivesWhatIsTaken() throws IOException {
        // {"take": ("x", 7) as memo 0, text as memo 1}, then a list of both from the memo.
        PyTuple pair = PyTuple.of(new PyStr("x"), PyInt.of(7));
        byte[] both = stream(
                '}', '(', "take", "x", 'K', 7, 0x86, 'q', 0, "take", "text", 'q', 1, 'u', ']', '(', 'h', 0, 'h', 1, 'h',
                0, 'e', 0x86);
        PyTuple root = (PyTuple) read(both).orElseThrow();

        assertThat(taker.taken).hasSize(2);
        assertThat(GraphText.of(taker.taken.get(0))).isEqualTo(GraphText.of(pair));
        assertThat(taker.taken.get(1)).isEqualTo(new PyStr("text"));
        assertThat(((PyDict) root.items().get(0)).entries()).isEmpty();
        List<PyValue> fetched = ((PyList) root.items().get(1)).items();
        assertThat(fetched).hasSize(3).element(1).isEqualTo(new PyStr("text"));
        assertThat(GraphText.of(fetched.get(0))).isEqualTo(GraphText.of(pair));
        assertThat(GraphText.of(fetched.get(2))).isEqualTo(GraphText.of(pair));
    }

    @Test
    void whatChangesAfterItWasForgottenIsLeftToTheReaderOfGraphs() throws IOException {
        // {"take": [] as memo 0}; an item is appended to the list later.
        byte[] later = stream('}', '(', "take", ']', 'q', 0, "take", 'N', 'u', 'h', 0, 'K', 1, 'a', 0x86);
        // A list from before the mark gets a node that would be forgotten with the mark.
        byte[] earlier = stream(']', 'q', 0, '}', '(', "take", 'h', 0, 'K', 1, 0x85, 'a', 'u', 0x86);

        assertThat(read(later)).isEmpty();
        assertThat(read(earlier)).isEmpty();
    }

    @Test
    void aNodeOfTheMemoThatLeadsToAnUnfinishedOneIsLeftToTheReaderOfGraphs() throws IOException {
        // The outer list is not complete when the tuple that holds it is taken away.
        assertThat(read(stream(']', 'q', 0, '}', '(', "take", 'h', 0, 0x85, 'q', 1, 'u', 'h', 1, 0x87)))
                .isEmpty();
    }

    @Test
    void cyclesAndRareOperationsAreLeftToTheReaderOfGraphs() throws IOException {
        assertThat(read(stream(']', 'q', 0, 'h', 0, 'a'))).isEmpty();
        assertThat(read(stream('K', 1, 'K', 2, '0'))).isEmpty();
        assertThat(read(stream(0x8f, '(', 'K', 1, 0x90))).isEmpty();
        // The next number is another one if entries were stored by number before.
        assertThat(read(stream("a", 'q', 5, 0x94, 'h', 1, 0x86))).isEmpty();
    }

    @Test
    void aSmallStreamThatWouldUnfoldToVeryMuchIsLeftToTheReaderOfGraphs() throws IOException {
        List<Object> parts = new ArrayList<>(List.of(')', 'q', 0));
        for (int i = 0; i < 40; i++) {
            parts.addAll(List.of('h', i, 'h', i, 0x86, 'q', i + 1));
        }

        assertThat(read(stream(parts.toArray()))).isEmpty();
    }

    @Test
    void aTruncatedStreamIsAnErrorOrLeftToTheReaderOfGraphs() throws IOException {
        PyDict root = new PyDict();
        root.put("name", PyTuple.of(new PyStr("value"), PyInt.of(1L << 40)));
        byte[] stream = PickleWriter.write(root);
        for (int length = 0; length < stream.length; length++) {
            byte[] cut = Arrays.copyOf(stream, length);
            try {
                assertThat(read(cut)).isEmpty();
            } catch (CheckpointException e) {
                assertThatThrownBy(() -> graph(cut)).hasMessage(e.getMessage());
            }
        }
    }
}
