package dev.shardsmith.gpu;

import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
import static jcuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;

import dev.shardsmith.formats.CheckpointException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUfunction_attribute;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** The driver itself, through JCuda. */
final class JCudaDriverCalls implements Driver {
    private static final int NAME_BYTES = 256;
    /** Outside every range; the driver takes the most urgent priority that there is. */
    private static final int URGENT = -1_000;

    private final Map<Long, Memory> allocations = new ConcurrentHashMap<>();

    private JCudaDriverCalls() {}

    /**
     * Loads the native library and starts the driver.
     *
     * @throws CheckpointException if there is no driver or it has no usable card
     */
    static JCudaDriverCalls start() throws CheckpointException {
        NativeLibrary.load();
        JCudaDriver.setExceptionsEnabled(false);
        check("cuInit", JCudaDriver.cuInit(0));
        return new JCudaDriverCalls();
    }

    /** A device pointer that tells its address. */
    private static final class Memory extends CUdeviceptr {
        long address() {
            return getNativePointer();
        }
    }

    private static void check(String call, int code) throws CheckpointException {
        if (code == CUresult.CUDA_SUCCESS) {
            return;
        }
        String[] meaning = {null};
        JCudaDriver.cuGetErrorString(code, meaning);
        throw CheckpointException.of(
                CheckpointException.Kind.ENVIRONMENT,
                "CUDA driver",
                "%s failed with code %d (%s): %s"
                        .formatted(
                                call,
                                code,
                                CUresult.stringFor(code),
                                meaning[0] == null ? "no meaning given" : meaning[0]));
    }

    private static <T> T as(Class<T> type, Handle handle) {
        return type.cast(handle.value());
    }

    @Override
    public int version() throws CheckpointException {
        int[] version = new int[1];
        check("cuDriverGetVersion", JCudaDriver.cuDriverGetVersion(version));
        return version[0];
    }

    @Override
    public int cards() throws CheckpointException {
        int[] count = new int[1];
        check("cuDeviceGetCount", JCudaDriver.cuDeviceGetCount(count));
        return count[0];
    }

    @Override
    public Card card(int ordinal) throws CheckpointException {
        CUdevice device = device(ordinal);
        byte[] name = new byte[NAME_BYTES];
        check("cuDeviceGetName", JCudaDriver.cuDeviceGetName(name, name.length, device));
        int length = 0;
        while (length < name.length && name[length] != 0) {
            length++;
        }
        long[] memory = new long[1];
        check("cuDeviceTotalMem", JCudaDriver.cuDeviceTotalMem(memory, device));
        return new Card(
                ordinal,
                new String(name, 0, length, StandardCharsets.UTF_8),
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
                attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                memory[0]);
    }

    private static CUdevice device(int ordinal) throws CheckpointException {
        CUdevice device = new CUdevice();
        check("cuDeviceGet", JCudaDriver.cuDeviceGet(device, ordinal));
        return device;
    }

    private static int attribute(CUdevice device, int attribute) throws CheckpointException {
        int[] value = new int[1];
        check("cuDeviceGetAttribute", JCudaDriver.cuDeviceGetAttribute(value, attribute, device));
        return value[0];
    }

    @Override
    public Handle retainContext(int ordinal) throws CheckpointException {
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain", JCudaDriver.cuDevicePrimaryCtxRetain(context, device(ordinal)));
        return new Handle(context);
    }

    @Override
    public void releaseContext(int ordinal) throws CheckpointException {
        check("cuDevicePrimaryCtxRelease", JCudaDriver.cuDevicePrimaryCtxRelease(device(ordinal)));
    }

    @Override
    public void enter(Handle context) throws CheckpointException {
        check("cuCtxSetCurrent", JCudaDriver.cuCtxSetCurrent(as(CUcontext.class, context)));
    }

    @Override
    public Handle loadModule(byte[] image) throws CheckpointException {
        CUmodule module = new CUmodule();
        // The driver reads PTX as a string that ends with a zero byte.
        byte[] ended = Arrays.copyOf(image, image.length + 1);
        check("cuModuleLoadData", JCudaDriver.cuModuleLoadData(module, ended));
        return new Handle(module);
    }

    @Override
    public Handle function(Handle module, String name) throws CheckpointException {
        CUfunction function = new CUfunction();
        check(
                "cuModuleGetFunction of " + name,
                JCudaDriver.cuModuleGetFunction(function, as(CUmodule.class, module), name));
        return new Handle(function);
    }

    @Override
    public void allowShared(Handle function, int bytes) throws CheckpointException {
        check(
                "cuFuncSetAttribute",
                JCudaDriver.cuFuncSetAttribute(
                        as(CUfunction.class, function),
                        CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        bytes));
    }

    @Override
    public long freeMemory() throws CheckpointException {
        long[] free = new long[1];
        long[] total = new long[1];
        check("cuMemGetInfo", JCudaDriver.cuMemGetInfo(free, total));
        return free[0];
    }

    @Override
    public long allocate(long bytes) throws CheckpointException {
        Memory memory = new Memory();
        int code = JCudaDriver.cuMemAlloc(memory, bytes);
        if (code == CUresult.CUDA_ERROR_OUT_OF_MEMORY) {
            return 0;
        }
        check("cuMemAlloc of " + bytes + " bytes", code);
        allocations.put(memory.address(), memory);
        return memory.address();
    }

    @Override
    public void free(long memory) throws CheckpointException {
        check("cuMemFree", JCudaDriver.cuMemFree(allocations.remove(memory)));
    }

    @Override
    public Pinned allocatePinned(int bytes) throws CheckpointException {
        Pointer pointer = new Pointer();
        check("cuMemAllocHost of " + bytes + " bytes", JCudaDriver.cuMemAllocHost(pointer, bytes));
        return new Pinned(new Handle(pointer), pointer.getByteBuffer(0, bytes).order(ByteOrder.nativeOrder()));
    }

    @Override
    public void freePinned(Pinned pinned) throws CheckpointException {
        check("cuMemFreeHost", JCudaDriver.cuMemFreeHost(as(Pointer.class, pinned.handle())));
    }

    @Override
    public Handle createStream(boolean urgent) throws CheckpointException {
        CUstream stream = new CUstream();
        check(
                "cuStreamCreateWithPriority",
                JCudaDriver.cuStreamCreateWithPriority(
                        stream, CUstream_flags.CU_STREAM_NON_BLOCKING, urgent ? URGENT : 0));
        return new Handle(stream);
    }

    @Override
    public void destroyStream(Handle stream) throws CheckpointException {
        check("cuStreamDestroy", JCudaDriver.cuStreamDestroy(as(CUstream.class, stream)));
    }

    @Override
    public void synchronize(Handle stream) throws CheckpointException {
        check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(as(CUstream.class, stream)));
    }

    @Override
    public void synchronize() throws CheckpointException {
        check("cuCtxSynchronize", JCudaDriver.cuCtxSynchronize());
    }

    @Override
    public void copyIn(long memory, long offset, Pinned from, int bytes, Handle stream) throws CheckpointException {
        check(
                "cuMemcpyHtoDAsync",
                JCudaDriver.cuMemcpyHtoDAsync(
                        allocations.get(memory).withByteOffset(offset),
                        as(Pointer.class, from.handle()),
                        bytes,
                        as(CUstream.class, stream)));
    }

    @Override
    public void copyOut(Pinned to, long memory, long offset, int bytes, Handle stream) throws CheckpointException {
        check(
                "cuMemcpyDtoHAsync",
                JCudaDriver.cuMemcpyDtoHAsync(
                        as(Pointer.class, to.handle()),
                        allocations.get(memory).withByteOffset(offset),
                        bytes,
                        as(CUstream.class, stream)));
    }

    @Override
    public void launch(Handle function, Grid grid, int block, int sharedBytes, List<Argument> arguments, Handle stream)
            throws CheckpointException {
        Pointer[] pointers = new Pointer[arguments.size()];
        for (int i = 0; i < pointers.length; i++) {
            pointers[i] = pointer(arguments.get(i));
        }
        check(
                "cuLaunchKernel",
                JCudaDriver.cuLaunchKernel(
                        as(CUfunction.class, function),
                        grid.x(),
                        grid.y(),
                        grid.z(),
                        block,
                        1,
                        1,
                        sharedBytes,
                        as(CUstream.class, stream),
                        Pointer.to(pointers),
                        null));
    }

    private static Pointer pointer(Argument argument) {
        if (argument instanceof Argument.Address address) {
            return Pointer.to(new long[] {address.value()});
        } else if (argument instanceof Argument.Words words) {
            return Pointer.to(words.values());
        } else if (argument instanceof Argument.Count count) {
            return Pointer.to(new long[] {count.value()});
        } else if (argument instanceof Argument.Single single) {
            return Pointer.to(new float[] {single.value()});
        } else if (argument instanceof Argument.Double wide) {
            return Pointer.to(new double[] {wide.value()});
        }
        throw new IllegalStateException("no such argument: " + argument);
    }

    @Override
    public Handle createEvent() throws CheckpointException {
        CUevent event = new CUevent();
        check("cuEventCreate", JCudaDriver.cuEventCreate(event, 0));
        return new Handle(event);
    }

    @Override
    public void destroyEvent(Handle event) throws CheckpointException {
        check("cuEventDestroy", JCudaDriver.cuEventDestroy(as(CUevent.class, event)));
    }

    @Override
    public void record(Handle event, Handle stream) throws CheckpointException {
        check("cuEventRecord", JCudaDriver.cuEventRecord(as(CUevent.class, event), as(CUstream.class, stream)));
    }

    @Override
    public void await(Handle stream, Handle event) throws CheckpointException {
        check(
                "cuStreamWaitEvent",
                JCudaDriver.cuStreamWaitEvent(as(CUstream.class, stream), as(CUevent.class, event), 0));
    }

    @Override
    public double milliseconds(Handle from, Handle to) throws CheckpointException {
        check("cuEventSynchronize", JCudaDriver.cuEventSynchronize(as(CUevent.class, to)));
        float[] elapsed = new float[1];
        check(
                "cuEventElapsedTime",
                JCudaDriver.cuEventElapsedTime(elapsed, as(CUevent.class, from), as(CUevent.class, to)));
        return elapsed[0];
    }
}
