//! Files as `torch.save` writes them.

use std::io::Write;

/// A tensor of the storage of a file.
pub struct Tensor<'t> {
    pub name: &'t str,
    pub offset: i32,
    pub shape: &'t [u64],
    pub strides: &'t [u64],
}

/// Returns an archive of this pickle, with this as its storage `0`.
pub fn archive(pickle: &[u8], storage: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in [("x/data.pkl", pickle), ("x/byteorder", b"little"), ("x/data/0", storage)] {
        let (mut entry, config) = archive.new_file(name).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).unwrap();
        let descriptor = writer.finish().unwrap().1;
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// Returns the pickle of a dictionary of these tensors, which lie in one storage of this many `float32`.
pub fn pickle_of(tensors: &[Tensor<'_>], elements: i32) -> Vec<u8> {
    let text = |text: &str| [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let whole = |number: i32| [b"J", &number.to_le_bytes()[..]].concat();
    let tuple = |numbers: &[u64]| {
        let numbers = numbers.iter().flat_map(|number| [b"\x8a\x08", &number.to_le_bytes()[..]].concat());
        [b"(", &numbers.collect::<Vec<_>>()[..], b"t"].concat()
    };
    let mut pickle = b"\x80\x02}(".to_vec();
    for Tensor { name, offset, shape, strides } in tensors {
        let storage = [text("storage"), b"ctorch\nFloatStorage\n".to_vec(), text("0"), text("cpu"), whole(elements)];
        let parts = [
            text(name),
            b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec(),
            storage.concat(),
            b"tQ".to_vec(),
            whole(*offset),
            tuple(shape),
            tuple(strides),
            b"\x89ccollections\nOrderedDict\n)RtR".to_vec(),
        ];
        pickle.extend(parts.concat());
    }
    pickle.extend(b"u.");
    pickle
}
