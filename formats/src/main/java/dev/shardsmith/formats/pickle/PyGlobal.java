package dev.shardsmith.formats.pickle;

/** A reference to a class or function by name; never resolved. Names are kept as written ({@code __builtin__ set}). */
public record PyGlobal(String module, String name) implements PyValue {
    /** True if this names {@code module.name}. */
    public boolean is(String otherModule, String otherName) {
        return module.equals(otherModule) && name.equals(otherName);
    }

    /** {@code module.name} */
    public String qualifiedName() {
        return module + "." + name;
    }
}
