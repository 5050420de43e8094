package dev.shardsmith.reshard.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.plan.proto.PlanHeader;
import dev.shardsmith.reshard.plan.proto.PlanMessage;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.testdata.Cases;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PlanCodecTest {
    @TempDir
    Path folder;

    private final FilePool pool = new FilePool();
    private Path source;

    @BeforeEach
    void makeSource() throws IOException {
        source = folder.resolve("model.pt");
        Files.write(source, new byte[100]);
    }

    @AfterEach
    void closePool() throws IOException {
        pool.close();
    }

    @Test
    void aPlanIsReadAsItWasWritten() throws IOException {
        Plan plan = plan();
        Plan read = read(written(plan));
        assertThat(read.ledger()).isEqualTo(plan.ledger());
        assertThat(read.dropped()).isEqualTo(plan.dropped());
        assertThat(read.notes()).isEqualTo(plan.notes());
        assertThat(read.singleFile()).isTrue();
        FileImage file = read.files().get(0);
        assertThat(file.path()).isEqualTo("iter_0000001/mp_rank_00/model.pt");
        assertThat(file.size()).isEqualTo(64);
        assertThat(file.literals().get(0).bytes()).containsExactly(1, 2, 3);
        assertThat(file.slots()).containsExactly(new FileImage.Slot("data/0", 16, 24));
        assertThat(file.crcPatches()).containsExactly(new FileImage.CrcPatch(0, 0));
        TensorMove move = read.moves().get(0);
        assertThat(move.tensor()).isEqualTo("weight");
        assertThat(move.shape()).isEqualTo(Shape.of(3, 2));
        assertThat(move.fills()).isEqualTo(plan.moves().get(0).fills());
        StoredTensor piece = move.sources().get(0).data();
        assertThat(piece.source().name()).isEqualTo(pool.file(source).name() + "!data/7");
        assertThat(piece.source().inFile()).contains(new ByteSource.FileRange(source, 10, 80));
        assertThat(piece.strides()).containsExactly(1, 2);
        assertThat(piece.offset()).isEqualTo(8);
        assertThat(piece.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
        assertThat(piece.conjugate()).isTrue();
        assertThat(move.sources().get(1).at()).containsExactly(1, 0);
        assertThat(move.sources().get(1).data().source().readBytes(0, 8)).containsExactly(8, 7, 6, 5, 4, 3, 2, 1);
        assertThat(move.targets().get(0).data().source())
                .isEqualTo(new TargetSlot("iter_0000001/mp_rank_00/model.pt", "data/0", 24));
        assertThat(move.replicas()).hasSize(1);
        assertThat(written(read)).isEqualTo(written(plan));
    }

    @Test
    void theFingerprintTellsThePlanAndTheStateOfItsSources() throws IOException {
        String before = PlanCodec.fingerprint(plan());
        assertThat(PlanCodec.fingerprint(plan())).isEqualTo(before).hasSize(64);
        Files.setLastModifiedTime(source, FileTime.fromMillis(1_000_000));
        assertThat(PlanCodec.fingerprint(plan())).isNotEqualTo(before);
    }

    @Test
    void theFingerprintIsThatOfThePlanReadAgain() throws IOException {
        Plan plan = plan();
        assertThat(PlanCodec.fingerprint(read(written(plan)))).isEqualTo(PlanCodec.fingerprint(plan));
    }

    @Test
    void everyPartOfAPlanChangesTheFingerprint() throws IOException {
        Plan plan = plan();
        FileImage file = plan.files().get(0);
        TensorMove move = plan.moves().get(0);
        List<Plan> others = new ArrayList<>();
        others.add(plan);
        others.add(plan.withNote("another note"));
        others.add(plan.withDropped(new Dropped("optimizer", 5, 20, "asked for")));
        others.add(with(plan, List.of(), plan.moves()));
        others.add(new Plan(
                plan.files(), plan.moves(), new Ledger(1, 2, 3, 4, 5, 6, 8), plan.dropped(), plan.notes(), true));
        others.add(new Plan(plan.files(), plan.moves(), plan.ledger(), plan.dropped(), plan.notes(), false));
        for (FileImage other : List.of(
                new FileImage("other.pt", 64, file.literals(), file.slots(), file.crcPatches()),
                new FileImage(file.path(), 65, file.literals(), file.slots(), file.crcPatches()),
                new FileImage(file.path(), 64, List.of(), file.slots(), file.crcPatches()),
                new FileImage(
                        file.path(),
                        64,
                        List.of(new FileImage.Literal(0, new byte[] {1, 2, 4})),
                        file.slots(),
                        file.crcPatches()),
                new FileImage(
                        file.path(),
                        64,
                        List.of(new FileImage.Literal(1, new byte[] {1, 2, 3})),
                        file.slots(),
                        file.crcPatches()),
                new FileImage(
                        file.path(),
                        64,
                        file.literals(),
                        List.of(new FileImage.Slot("data/0", 24, 24)),
                        file.crcPatches()),
                new FileImage(file.path(), 64, file.literals(), file.slots(), List.of()))) {
            others.add(with(plan, List.of(other), plan.moves()));
        }
        Piece first = move.sources().get(0);
        Piece second = move.sources().get(1);
        StoredTensor data = first.data();
        ByteSource storage = pool.file(source).slice("data/7", 10, 80);
        for (StoredTensor other : List.of(
                view(DType.F32, data.strides(), storage, 12).withFlags(true, false),
                view(DType.F32, new long[] {1, 3}, storage, 8).withFlags(true, false),
                view(DType.I32, data.strides(), storage, 8).withFlags(true, false),
                view(DType.F32, data.strides(), storage, 8).withFlags(true, true),
                view(DType.F32, data.strides(), storage, 8),
                view(DType.F32, data.strides(), storage.withRecordedCrc(0), 8).withFlags(true, false),
                view(DType.F32, data.strides(), storage.withRecordedCrc(7), 8).withFlags(true, false),
                view(DType.F32, data.strides(), pool.file(source).slice("data/7", 9, 80), 8)
                        .withFlags(true, false),
                view(DType.F32, data.strides(), ByteSource.of("memory", new byte[80]), 8)
                        .withFlags(true, false))) {
            others.add(moving(plan, List.of(new Piece(first.at(), other), second), move));
        }
        others.add(moving(plan, List.of(second, first), move));
        others.add(moving(plan, List.of(new Piece(new long[] {2, 0}, data), second), move));
        others.add(with(
                plan,
                plan.files(),
                List.of(new TensorMove(
                        "bias", move.shape(), move.sources(), move.fills(), move.targets(), move.replicas()))));
        others.add(with(
                plan,
                plan.files(),
                List.of(new TensorMove(
                        move.tensor(), move.shape(), move.sources(), List.of(), move.targets(), move.replicas()))));
        others.add(with(
                plan,
                plan.files(),
                List.of(new TensorMove(
                        move.tensor(), move.shape(), move.sources(), move.fills(), List.of(), move.replicas()))));
        others.add(with(
                plan,
                plan.files(),
                List.of(new TensorMove(
                        move.tensor(), move.shape(), move.sources(), move.fills(), move.targets(), List.of()))));
        List<String> fingerprints = new ArrayList<>();
        for (Plan other : others) {
            fingerprints.add(PlanCodec.fingerprint(other));
        }
        assertThat(fingerprints).doesNotHaveDuplicates().hasSize(28);
    }

    private static Plan with(Plan plan, List<FileImage> files, List<TensorMove> moves) {
        return new Plan(files, moves, plan.ledger(), plan.dropped(), plan.notes(), plan.singleFile());
    }

    private static Plan moving(Plan plan, List<Piece> sources, TensorMove move) {
        return with(
                plan,
                plan.files(),
                List.of(new TensorMove(
                        move.tensor(), move.shape(), sources, move.fills(), move.targets(), move.replicas())));
    }

    private static StoredTensor view(DType dtype, long[] strides, ByteSource source, long offset) throws IOException {
        return StoredTensor.checked("weight", dtype, Shape.of(1, 2), strides, source, offset, ByteOrder.BIG_ENDIAN);
    }

    @Test
    void aChangedOrVanishedSourceIsTold() throws IOException {
        byte[] bytes = written(plan());
        Files.setLastModifiedTime(source, FileTime.fromMillis(1_000_000));
        assertThatThrownBy(() -> read(bytes))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("model.pt")
                .hasMessageContaining("changed since the plan was made");
        Files.delete(source);
        assertThatThrownBy(() -> read(bytes)).hasMessageContaining("not there any more");
    }

    @Test
    void aLaterVersionIsRefused() throws IOException {
        ByteArrayOutputStream later = new ByteArrayOutputStream();
        PlanMessage.newBuilder()
                .setHeader(PlanHeader.newBuilder().setTitle("shardsmith plan").setVersion(2))
                .build()
                .writeDelimitedTo(later);
        assertThatThrownBy(() -> read(later.toByteArray()))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.UNSUPPORTED))
                .hasMessageContaining("version 2, the highest known is 1");
    }

    @Test
    void aPlanCutAnywhereIsRefused() throws IOException {
        byte[] bytes = written(plan());
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThatThrownBy(() -> read(cut)).isInstanceOf(CheckpointException.class);
        }
    }

    @Test
    void damagedBytesGiveAPlanOrACleanError() throws IOException {
        byte[] bytes = written(plan());
        Cases.forAll(3000, random -> {
            byte[] damaged = bytes.clone();
            for (int flips = random.nextInt(1, 4); flips > 0; flips--) {
                damaged[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                read(damaged);
            } catch (CheckpointException e) {
                assertThat(e.getMessage()).isNotBlank();
            }
        });
    }

    @Test
    void aPlanFileAppearsComplete() throws IOException {
        Path file = folder.resolve("plans/plan.pb");
        PlanCodec.write(plan(), WholeFile.replacing(file));
        assertThat(file).hasBinaryContent(written(plan()));
        assertThat(PlanCodec.read(file, pool).notes()).containsExactly("a note");
        assertThat(file.getParent()).isDirectoryNotContaining("glob:**.new");
    }

    private Plan plan() throws IOException {
        ByteSource storage = pool.file(source).slice("data/7", 10, 80);
        ByteSource inline = ByteSource.of("decoded", new byte[] {8, 7, 6, 5, 4, 3, 2, 1});
        FileImage file = new FileImage(
                "iter_0000001/mp_rank_00/model.pt",
                64,
                List.of(new FileImage.Literal(0, new byte[] {1, 2, 3})),
                List.of(new FileImage.Slot("data/0", 16, 24)),
                List.of(new FileImage.CrcPatch(0, 0)));
        Shape shape = Shape.of(3, 2);
        StoredTensor first = StoredTensor.checked(
                        "weight", DType.F32, Shape.of(1, 2), new long[] {1, 2}, storage, 8, ByteOrder.BIG_ENDIAN)
                .withFlags(true, false);
        StoredTensor second = StoredTensor.contiguous("weight", DType.F32, Shape.of(1, 2), inline, 0);
        TargetSlot slot = new TargetSlot(file.path(), "data/0", 24);
        TensorMove move = new TensorMove(
                "weight",
                shape,
                List.of(new Piece(new long[] {0, 0}, first), new Piece(new long[] {1, 0}, second)),
                List.of(new Fill(Box.slice(shape, 0, 2, 1), Fill.Mode.MEAN)),
                List.of(Piece.whole(StoredTensor.contiguous("weight", DType.F32, shape, slot, 0))),
                List.of(new Piece(new long[] {1, 0}, second)));
        return new Plan(
                List.of(file),
                List.of(move),
                new Ledger(1, 2, 3, 4, 5, 6, 7),
                List.of(new Dropped("optimizer", 5, 20, "asked for")),
                List.of("a note"),
                true);
    }

    private static byte[] written(Plan plan) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PlanCodec.write(plan, out);
        return out.toByteArray();
    }

    private Plan read(byte[] bytes) throws IOException {
        return PlanCodec.read(new ByteArrayInputStream(bytes), "plan.pb", pool);
    }
}
