import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;

/** Reads messages and writes them again: first a file's descriptor, then bodies, each behind its length. */
public class Reread {
  public static void main(String[] arguments) throws Exception {
    var in = new DataInputStream(System.in);
    var out = new DataOutputStream(System.out);
    var file = FileDescriptor.buildFrom(FileDescriptorProto.parseFrom(next(in)), new FileDescriptor[0]);
    var kind = file.getMessageTypes().get(0);
    while (true) {
      byte[] body;
      try {
        body = next(in);
      } catch (EOFException end) {
        break;
      }
      var written = DynamicMessage.parseFrom(kind, body).toByteArray();
      out.writeInt(written.length);
      out.write(written);
    }
    out.flush();
  }

  private static byte[] next(DataInputStream in) throws Exception {
    return in.readNBytes(in.readInt());
  }
}
