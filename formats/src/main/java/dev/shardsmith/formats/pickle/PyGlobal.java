package dev.shardsmith.formats.pickle;

/** A reference to a class or function by name; never resolved. Names are kept as written ({@code __builtin__ set}). */
public record PyGlobal(String module, String name) implements PyValue {
    // Written out, as every call of a pickle looks its function up, and a process that lives for a second has no time
    // to link
    // the generated ones.
    @Override
    public boolean equals(Object other) {
        return other instanceof PyGlobal that && is(that.module, that.name);
    }

    @Override
    public int hashCode() {
        return 31 * module.hashCode() + name.hashCode();
    }

    /** True if this names {@code module.name}. */
    public boolean is(String otherModule, String otherName) {
        return module.equals(otherModule) && name.equals(otherName);
    }

    /** {@code module.name} */
    public String qualifiedName() {
        return module + "." + name;
    }
}
