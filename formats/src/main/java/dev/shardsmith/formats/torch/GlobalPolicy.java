package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PythonText;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** Judges the classes and functions that a pickle names, by their names alone. */
final class GlobalPolicy {
    /** What PyTorch 2.11 loads with {@code weights_only=True}, apart from types and storages. */
    private static final Set<String> ALLOWED = Set.of(
            "collections.OrderedDict",
            "collections.Counter",
            "_codecs.encode",
            "builtins.bytearray",
            "builtins.set",
            "builtins.complex",
            "torch.nn.parameter.Parameter",
            "torch.serialization._get_layout",
            "torch.Size",
            "torch.Tensor",
            "torch.device",
            "torch.per_tensor_affine",
            "torch.per_tensor_symmetric",
            "torch.per_channel_affine",
            "torch.per_channel_symmetric",
            "torch.per_channel_affine_float_qparams",
            "torch._utils._rebuild_parameter",
            "torch._utils._rebuild_parameter_with_state",
            "torch._utils._rebuild_qtensor",
            "torch._utils._rebuild_tensor",
            "torch._utils._rebuild_tensor_v2",
            "torch._utils._rebuild_tensor_v3",
            "torch._utils._rebuild_sparse_tensor",
            "torch._utils._rebuild_meta_tensor_no_storage",
            "torch._utils._rebuild_nested_tensor",
            "torch._utils._rebuild_wrapper_subclass",
            "torch._utils._rebuild_device_tensor_from_numpy",
            "torch._utils._rebuild_device_tensor_from_cpu_tensor",
            "torch._tensor._rebuild_from_type_v2",
            "torch.storage.TypedStorage",
            "torch.storage.UntypedStorage");

    /** Makers of plain values. */
    private static final Set<String> KNOWN = Set.of(
            "builtins.list",
            "builtins.dict",
            "builtins.tuple",
            "builtins.frozenset",
            "builtins.int",
            "builtins.float",
            "builtins.bool",
            "builtins.str",
            "builtins.bytes",
            "builtins.object",
            "builtins.range",
            "builtins.slice",
            "builtins.type",
            "builtins.Ellipsis",
            "builtins.NotImplemented",
            "builtins.len",
            "builtins.abs",
            "builtins.min",
            "builtins.max",
            "builtins.sum",
            "collections.defaultdict",
            "collections.deque",
            "copyreg._reconstructor",
            "datetime.datetime",
            "datetime.date",
            "datetime.time",
            "datetime.timedelta",
            "datetime.timezone",
            "decimal.Decimal",
            "fractions.Fraction",
            "uuid.UUID",
            "argparse.Namespace",
            "types.SimpleNamespace",
            "_io.BytesIO",
            "io.BytesIO",
            "signal.Signals",
            "numpy.ndarray",
            "numpy.dtype",
            "torch.storage._load_from_bytes",
            "torch.torch_version.TorchVersion",
            "torch._C.Generator",
            "torch._tensor._rebuild_from_type",
            "torch._utils._rebuild_sparse_csr_tensor",
            "torch._utils._rebuild_xla_tensor",
            "torch.UntypedStorage",
            "torch._UntypedStorage",
            "torch.nn.parameter.UninitializedParameter",
            "torch.nn.parameter.UninitializedBuffer",
            "torch.nn.parameter.Buffer");

    private static final Set<String> KNOWN_MODULES = Set.of(
            "pathlib",
            "pathlib._local",
            "torch.distributed.checkpoint.metadata",
            "torch.distributed.checkpoint.filesystem",
            "torch.distributed.checkpoint.planner",
            "torch.distributed._shard.sharded_tensor.metadata",
            "torch.distributed._shard.checkpoint.metadata",
            "torch.distributed._shard.checkpoint.filesystem",
            "torch.distributed._shard.metadata",
            "torch.distributed.tensor._dtensor_spec",
            "torch.distributed.tensor.placement_types",
            "torch.distributed._tensor.placement_types",
            "megatron.core.transformer.enums",
            "megatron.core.enums",
            "megatron.model.enums",
            "megatron.core.dist_checkpointing.strategies.torch",
            "megatron.core.rerun_state_machine",
            "megatron.core.num_microbatches_calculator",
            "megatron.core.optimizer_param_scheduler");

    /** Modules whose classes are layers: making one without its constructor only sets attributes. */
    private static final List<String> KNOWN_PREFIXES = List.of("torch.nn.modules.");

    private static final Set<String> NUMPY_FUNCTIONS =
            Set.of("multiarray._reconstruct", "multiarray.scalar", "numeric._frombuffer");

    /** Modules that nothing in a checkpoint has any business with, with all that is in them. */
    private static final Set<String> DANGEROUS_MODULES = Set.of(
            "os",
            "posix",
            "nt",
            "posixpath",
            "ntpath",
            "sys",
            "subprocess",
            "_posixsubprocess",
            "pty",
            "socket",
            "_socket",
            "shutil",
            "runpy",
            "importlib",
            "imp",
            "pkgutil",
            "zipimport",
            "ctypes",
            "_ctypes",
            "code",
            "codeop",
            "commands",
            "webbrowser",
            "http",
            "urllib",
            "urllib2",
            "httplib",
            "requests",
            "ftplib",
            "smtplib",
            "telnetlib",
            "ssl",
            "asyncio",
            "multiprocessing",
            "threading",
            "_thread",
            "concurrent",
            "signal",
            "gc",
            "inspect",
            "types",
            "marshal",
            "pickle",
            "_pickle",
            "cPickle",
            "dill",
            "cloudpickle",
            "joblib",
            "shelve",
            "pip",
            "ensurepip",
            "venv",
            "distutils",
            "setuptools",
            "pdb",
            "bdb",
            "cProfile",
            "profile",
            "trace",
            "timeit",
            "doctest",
            "unittest",
            "test",
            "idlelib",
            "lib2to3",
            "tkinter",
            "turtle",
            "antigravity",
            "tempfile",
            "glob",
            "fileinput",
            "linecache",
            "atexit",
            "operator",
            "_operator",
            "functools",
            "getpass",
            "site",
            "sysconfig",
            "nturl2path",
            "mmap",
            "resource",
            "fcntl",
            "platform",
            "winreg",
            "msvcrt",
            "ast",
            "dis",
            "aiohttp",
            "paramiko",
            "fsspec",
            "uvicorn",
            "flask",
            "IPython");

    private static final Set<String> DANGEROUS_BUILTINS = Set.of(
            "eval",
            "exec",
            "execfile",
            "compile",
            "open",
            "file",
            "input",
            "raw_input",
            "__import__",
            "getattr",
            "setattr",
            "delattr",
            "hasattr",
            "globals",
            "locals",
            "vars",
            "breakpoint",
            "apply",
            "map",
            "filter",
            "memoryview",
            "super",
            "help",
            "exit",
            "quit",
            "callable",
            "property",
            "classmethod",
            "staticmethod");

    private static final Set<String> DANGEROUS = Set.of(
            "torch.load",
            "torch.save",
            "torch.serialization.load",
            "torch.serialization.save",
            "torch.ops.load_library",
            "torch.classes.load_library",
            "torch._ops.load_library",
            "torch.jit.load",
            "torch.jit.compile",
            "torch.jit._script.script",
            "torch.jit.CompilationUnit",
            "torch.compile",
            "torch.storage._load_storage",
            "numpy.load",
            "numpy.save",
            "numpy.fromfile",
            "numpy.memmap",
            "numpy.loadtxt",
            "numpy.genfromtxt",
            "numpy.savetxt",
            "collections.namedtuple",
            "logging.config.listen",
            "yaml.load",
            "yaml.unsafe_load");

    private static final List<String> DANGEROUS_PREFIXES = List.of(
            "torch.hub",
            "torch.utils.cpp_extension",
            "torch.utils.bottleneck",
            "torch.utils.collect_env",
            "torch.utils.data.datapipes",
            "torch.utils._config_module",
            "torch._inductor",
            "torch._dynamo",
            "torch.package",
            "torch.distributed.rpc",
            "torch.distributed.run",
            "torch.distributed.launcher",
            "torch.multiprocessing",
            "torch.testing",
            "torch.fx",
            "numpy.testing",
            "numpy.f2py",
            "numpy.distutils",
            "numpy.ctypeslib",
            "logging.config");

    /** Makers of plain values in modules that have nothing else of use; the last is in tensors of ragged rows. */
    private static final Set<String> HARMLESS_EXCEPTIONS =
            Set.of("types.SimpleNamespace", "signal.Signals", "torch._dynamo.decorators._DimRange");

    private GlobalPolicy() {}

    /** The risk of a name. */
    static GlobalRisk riskOf(PyGlobal written) {
        PyGlobal global = PythonText.modern(written);
        String name = global.qualifiedName();
        // Later protocols walk along dots of a name, from any module to what it has imported.
        boolean walks = global.name().indexOf('.') >= 0;
        if (isDangerous(global) || walks && Arrays.stream(name.split("\\.")).anyMatch(GlobalPolicy::isRisky)) {
            return isHarmlessException(name) ? GlobalRisk.KNOWN : GlobalRisk.DANGEROUS;
        }
        if (walks) {
            return GlobalRisk.UNKNOWN;
        }
        if (ALLOWED.contains(name) || isTorchType(global)) {
            return GlobalRisk.ALLOWED;
        }
        return isKnown(global) ? GlobalRisk.KNOWN : GlobalRisk.UNKNOWN;
    }

    private static boolean isHarmlessException(String name) {
        return HARMLESS_EXCEPTIONS.contains(name);
    }

    private static boolean isDangerous(PyGlobal global) {
        String module = global.module();
        String top = module.contains(".") ? module.substring(0, module.indexOf('.')) : module;
        String name = global.qualifiedName();
        return DANGEROUS_MODULES.contains(top)
                || module.equals("builtins") && DANGEROUS_BUILTINS.contains(global.name())
                || DANGEROUS.contains(name)
                || DANGEROUS_PREFIXES.stream()
                        .anyMatch(prefix -> module.equals(prefix) || module.startsWith(prefix + "."));
    }

    /** True for a part of a name that leads to harm wherever it stands. */
    static boolean isRisky(String part) {
        return DANGEROUS_MODULES.contains(part)
                || DANGEROUS_BUILTINS.contains(part)
                || part.equals("system")
                || part.equals("popen")
                || part.startsWith("__") && part.endsWith("__");
    }

    private static boolean isTorchType(PyGlobal global) {
        boolean ofTorch = global.module().equals("torch");
        boolean ofCuda = global.module().equals("torch.cuda");
        return ofTorch && DType.ofTorchName(global.name()).isPresent()
                || ofTorch && global.name().matches("u?int[1-7]")
                || (ofTorch || ofCuda) && StorageTypes.elementType(global).isPresent()
                || (ofTorch
                                || ofCuda
                                || global.module().equals("torch.sparse")
                                || global.module().equals("torch.cuda.sparse"))
                        && global.name().matches("(Double|Float|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)Tensor");
    }

    private static boolean isKnown(PyGlobal global) {
        String module = global.module();
        if (KNOWN.contains(global.qualifiedName()) || KNOWN_MODULES.contains(module)) {
            return true;
        }
        if (KNOWN_PREFIXES.stream().anyMatch(module::startsWith)) {
            return startsUpperCase(global);
        }
        for (String core : List.of("numpy.core.", "numpy._core.")) {
            if (module.startsWith(core)) {
                return NUMPY_FUNCTIONS.contains(global.qualifiedName().substring(core.length()));
            }
        }
        return module.equals("numpy.random._pickle")
                || module.startsWith("numpy.random.") && startsUpperCase(global)
                || module.equals("numpy") && global.name().matches("(u?int|float|complex|bool_?)[0-9]*_?")
                || module.equals("numpy.dtypes") && global.name().endsWith("DType");
    }

    private static boolean startsUpperCase(PyGlobal global) {
        return !global.name().isEmpty() && Character.isUpperCase(global.name().codePointAt(0));
    }
}
