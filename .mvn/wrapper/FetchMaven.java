import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Properties;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** Fetches Maven, checks its digest and unpacks it: run by mvnw with nothing but a JDK. */
final class FetchMaven {
    private static final int TIMEOUT_MILLIS = 30_000;

    private FetchMaven() {}

    /** Takes the properties file and the folder that Maven shall be in afterwards. */
    public static void main(String[] words) throws Exception {
        Properties wanted = new Properties();
        try (InputStream file = Files.newInputStream(Path.of(words[0]))) {
            wanted.load(file);
        }
        Path target = Path.of(words[1]).toAbsolutePath();
        Files.createDirectories(target.getParent());
        Path archive = Files.createTempFile(target.getParent(), "maven", ".zip");
        Path fresh = Files.createTempDirectory(target.getParent(), "maven");
        try {
            fetch(wanted.getProperty("distributionUrl"), archive, wanted.getProperty("distributionSha512Sum"));
            unpack(archive, fresh);
            // Another process may have been faster; its folder is as good.
            if (!Files.exists(target)) {
                Files.move(fresh, target, StandardCopyOption.ATOMIC_MOVE);
            }
        } finally {
            Files.deleteIfExists(archive);
        }
    }

    private static void fetch(String url, Path archive, String wantedDigest) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-512");
        URLConnection connection = URI.create(url).toURL().openConnection();
        connection.setConnectTimeout(TIMEOUT_MILLIS);
        connection.setReadTimeout(TIMEOUT_MILLIS);
        try (InputStream in = new DigestInputStream(connection.getInputStream(), digest)) {
            Files.copy(in, archive, StandardCopyOption.REPLACE_EXISTING);
        }
        String found = HexFormat.of().formatHex(digest.digest());
        if (!found.equals(wantedDigest)) {
            throw new IOException(url + " has the SHA-512 digest " + found + ", but expected " + wantedDigest);
        }
    }

    private static void unpack(Path archive, Path folder) throws IOException {
        try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(archive))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                // Every name begins with the folder apache-maven-VERSION, which is dropped.
                String inside = entry.getName().substring(entry.getName().indexOf('/') + 1);
                Path file = folder.resolve(inside).normalize();
                if (!file.startsWith(folder)) {
                    throw new IOException("the archive holds a file outside its folder: " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(file);
                } else {
                    Files.createDirectories(file.getParent());
                    Files.copy(zip, file, StandardCopyOption.REPLACE_EXISTING);
                    if (inside.startsWith("bin/")) {
                        file.toFile().setExecutable(true);
                    }
                }
            }
        }
    }
}
