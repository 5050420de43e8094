package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A driver without a card: it keeps memory and notes launches. Several threads may use it. */
final class FakeDriver implements Driver {
    static final Card H200 = new Card(0, "Fake H200", 9, 0, 132, 232_448, 150L << 30);

    /** A launch as it was asked for. */
    record Launch(String name, Grid grid, int block, int sharedBytes, List<Argument> arguments, Handle stream) {}

    final List<Launch> launches = new ArrayList<>();
    final Map<Handle, Integer> shared = new LinkedHashMap<>();
    final Set<Handle> events = new HashSet<>();
    int version = 13_000;
    List<Card> cards = List.of(H200);
    /** Device memory that there is. */
    long capacity = 8L << 30;
    /** Calls of these names fail. */
    final Set<String> failing = new HashSet<>();

    int frees;

    private final Map<Long, ByteBuffer> memory = new LinkedHashMap<>();
    private final Map<Long, Long> sizes = new LinkedHashMap<>();
    private long nextAddress = 1 << 20;
    private int nextHandle;

    private synchronized Handle handle() {
        return new Handle(nextHandle++);
    }

    private void call(String name) throws CheckpointException {
        if (failing.contains(name)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.ENVIRONMENT, "CUDA driver", name + " failed with code 719 (fake)");
        }
    }

    synchronized long used() {
        return sizes.values().stream().mapToLong(Long::longValue).sum();
    }

    @Override
    public int version() {
        return version;
    }

    @Override
    public int cards() {
        return cards.size();
    }

    @Override
    public Card card(int ordinal) {
        return cards.get(ordinal);
    }

    @Override
    public Handle retainContext(int ordinal) throws CheckpointException {
        call("cuDevicePrimaryCtxRetain");
        return handle();
    }

    @Override
    public void releaseContext(int ordinal) {}

    @Override
    public void enter(Handle context) {}

    @Override
    public Handle loadModule(byte[] image) throws CheckpointException {
        call("cuModuleLoadData");
        return handle();
    }

    @Override
    public Handle function(Handle module, String name) {
        return new Handle(name);
    }

    @Override
    public void allowShared(Handle function, int bytes) {
        shared.put(function, bytes);
    }

    @Override
    public long freeMemory() {
        return capacity - used();
    }

    @Override
    public synchronized long allocate(long bytes) {
        if (bytes > freeMemory()) {
            return 0;
        }
        long address = nextAddress;
        nextAddress += bytes;
        sizes.put(address, bytes);
        return address;
    }

    @Override
    public synchronized void free(long address) {
        frees++;
        memory.remove(address);
        if (sizes.remove(address) == null) {
            throw new IllegalStateException("freed twice: " + address);
        }
    }

    @Override
    public Pinned allocatePinned(int bytes) {
        return new Pinned(handle(), ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder()));
    }

    @Override
    public void freePinned(Pinned pinned) {}

    @Override
    public Handle createStream(boolean urgent) {
        return handle();
    }

    @Override
    public void destroyStream(Handle stream) {}

    @Override
    public void synchronize(Handle stream) throws CheckpointException {
        call("cuStreamSynchronize");
    }

    @Override
    public void synchronize() throws CheckpointException {
        call("cuCtxSynchronize");
    }

    private ByteBuffer contents(long address) {
        return memory.computeIfAbsent(
                address, a -> ByteBuffer.allocate(Math.toIntExact(sizes.get(a))).order(ByteOrder.nativeOrder()));
    }

    @Override
    public synchronized void copyIn(long address, long offset, Pinned from, int bytes, Handle stream)
            throws CheckpointException {
        call("cuMemcpyHtoDAsync");
        contents(address).put((int) offset, from.bytes(), 0, bytes);
    }

    @Override
    public synchronized void copyOut(Pinned to, long address, long offset, int bytes, Handle stream) {
        to.bytes().put(0, contents(address), (int) offset, bytes);
    }

    @Override
    public synchronized void launch(
            Handle function, Grid grid, int block, int sharedBytes, List<Argument> arguments, Handle stream)
            throws CheckpointException {
        call("cuLaunchKernel");
        launches.add(new Launch((String) function.value(), grid, block, sharedBytes, arguments, stream));
    }

    @Override
    public synchronized Handle createEvent() {
        Handle event = handle();
        events.add(event);
        return event;
    }

    @Override
    public synchronized void destroyEvent(Handle event) {
        events.remove(event);
    }

    @Override
    public void record(Handle event, Handle stream) {}

    @Override
    public void await(Handle stream, Handle event) {}

    @Override
    public double milliseconds(Handle from, Handle to) {
        return 1;
    }
}
