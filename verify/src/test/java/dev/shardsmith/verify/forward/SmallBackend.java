package dev.shardsmith.verify.forward;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Optional;

/** The processor, but as if it had little room for weights. */
final class SmallBackend {
    private SmallBackend() {}

    /** A backend that takes so many elements of a weight at a time. */
    static ForwardBackend of(long largestWeight) {
        return of(largestWeight, 0);
    }

    /** A backend that also has room for weights read ahead. */
    static ForwardBackend of(long largestWeight, long spare) {
        CpuBackend cpu = new CpuBackend();
        return (ForwardBackend) Proxy.newProxyInstance(
                ForwardBackend.class.getClassLoader(),
                new Class<?>[] {ForwardBackend.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("largestWeight")) {
                        return largestWeight;
                    }
                    if (method.getName().equals("spareElements")) {
                        return spare;
                    }
                    if (method.getName().equals("product") && arguments[1] instanceof StoredElements) {
                        return Optional.empty();
                    }
                    try {
                        return method.invoke(cpu, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
