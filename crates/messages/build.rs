//! Generates Rust types from the `.proto` files (prost), and their JSON implementations.
//!
//! Each message gets an implementation of `json::Object`: the index of a field by name, reading of a field by index,
//! and writing of all fields. The JSON form of a value follows from its Rust type and is implemented in `src/json`.

use std::{error::Error, fmt::Write as _, fs, path::PathBuf};

use heck::{ToSnakeCase, ToUpperCamelCase};
use prost::Message as _;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    field_descriptor_proto::{Label, Type},
};

const FILES: [&str; 2] = ["api.proto", "realtime.proto"];

/// Package whose messages reject unknown fields, as the socket of this protocol does.
const STRICT_PACKAGE: &str = "nakama.realtime";

/// Maximum fields of a message: the reader marks seen fields in 64 bits.
const MESSAGE_FIELDS_MAX: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let output = PathBuf::from(std::env::var("OUT_DIR")?);
    for file in descriptors.file.iter().filter(|file| FILES.contains(&file.name())) {
        fs::write(output.join(format!("{}.json.rs", file.package())), file_json(file)?)?;
    }
    // Source of the API description, and of a test that compares the messages with another implementation.
    fs::write(output.join("descriptors.bin"), descriptors.encode_to_vec())?;
    // Maps are ordered so that equal messages have equal bytes. Byte fields share the memory of their frame.
    prost_build::Config::new().btree_map(["."]).bytes(["."]).enable_type_names().compile_fds(descriptors)?;
    Ok(())
}

/// Returns the JSON implementations of all messages of a file.
fn file_json(file: &FileDescriptorProto) -> Result<String, Box<dyn Error>> {
    let mut writer = Writer { package: file.package(), code: String::new() };
    for message in &file.message_type {
        writer.message("", message)?;
    }
    Ok(writer.code)
}

struct Writer<'a> {
    package: &'a str,
    code: String,
}

impl Writer<'_> {
    /// Writes a message and its nested messages. `module` is the path of its module.
    fn message(&mut self, module: &str, message: &DescriptorProto) -> Result<(), Box<dyn Error>> {
        let inner = format!("{module}{}::", message.name().to_snake_case());
        for nested in message.nested_type.iter().filter(|nested| !is_map_entry(nested)) {
            self.message(&inner, nested)?;
        }
        if message.field.len() > MESSAGE_FIELDS_MAX {
            return Err(format!("{} has more than {MESSAGE_FIELDS_MAX} fields; split it", message.name()).into());
        }
        let unknown = if self.package == STRICT_PACKAGE { "Rejected" } else { "Ignored" };
        let (code, rust_type) = (&mut self.code, format!("{module}{}", message.name().to_upper_camel_case()));
        writeln!(code, "crate::json::implement_serde!({rust_type});")?;
        writeln!(code, "impl crate::json::Object for {rust_type} {{")?;
        writeln!(code, "    const UNKNOWN: crate::json::Unknown = crate::json::Unknown::{unknown};")?;
        if !message.field.is_empty() {
            self.field_index(message)?;
            self.read(&inner, message)?;
            self.write(&inner, message)?;
        }
        writeln!(self.code, "}}")?;
        Ok(())
    }

    fn field_index(&mut self, message: &DescriptorProto) -> Result<(), Box<dyn Error>> {
        writeln!(self.code, "    fn field(name: &str) -> Option<u8> {{\n        Some(match name {{")?;
        for (index, field) in message.field.iter().enumerate() {
            let names = if field.name() == field.json_name() {
                format!("{:?}", field.name())
            } else {
                format!("{:?} | {:?}", field.name(), field.json_name())
            };
            writeln!(self.code, "            {names} => {index},")?;
        }
        writeln!(self.code, "            _ => return None,\n        }})\n    }}")?;
        Ok(())
    }

    fn read(&mut self, inner: &str, message: &DescriptorProto) -> Result<(), Box<dyn Error>> {
        writeln!(
            self.code,
            "    fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, field: u8, \
             values: &mut crate::json::Values<'_, A>) -> Result<(), A::Error> {{\n        match field {{"
        )?;
        for (index, field) in message.field.iter().enumerate() {
            let read = match (oneof(message, field), field.r#type()) {
                (Some(oneof), _) => {
                    let (variant, oneof_type) = (field.name().to_upper_camel_case(), oneof.to_upper_camel_case());
                    format!("values.read_one_of(&mut self.{oneof}, {inner}{oneof_type}::{variant})")
                }
                (None, Type::Enum) if field.label() != Label::Repeated => {
                    let names = format!("{}::from_str_name", self.enum_type(field)?);
                    format!("values.read_enum(&mut self.{}, |name| {names}(name).map(i32::from))", rust_name(field))
                }
                (None, Type::Enum) => {
                    return Err(format!("{} is a list of enums, which build.rs does not support", field.name()).into());
                }
                (None, _) => format!("values.read(&mut self.{})", rust_name(field)),
            };
            writeln!(self.code, "            {index} => {read},")?;
        }
        writeln!(self.code, "            _ => Ok(()),\n        }}\n    }}")?;
        Ok(())
    }

    fn write(&mut self, inner: &str, message: &DescriptorProto) -> Result<(), Box<dyn Error>> {
        writeln!(
            self.code,
            "    fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {{"
        )?;
        for field in message.field.iter().filter(|field| field.oneof_index.is_none()) {
            writeln!(self.code, "        crate::json::write(map, {:?}, &self.{})?;", field.name(), rust_name(field))?;
        }
        for (index, oneof) in message.oneof_decl.iter().enumerate() {
            writeln!(self.code, "        match &self.{} {{\n            None => {{}}", oneof.name())?;
            let oneof_type = oneof.name().to_upper_camel_case();
            for field in message.field.iter().filter(|field| field.oneof_index == i32::try_from(index).ok()) {
                let (variant, name) = (field.name().to_upper_camel_case(), field.name());
                let write = format!("crate::json::write_present(map, {name:?}, value)?");
                writeln!(self.code, "            Some({inner}{oneof_type}::{variant}(value)) => {write},")?;
            }
            writeln!(self.code, "        }}")?;
        }
        writeln!(self.code, "        Ok(())\n    }}")?;
        Ok(())
    }

    /// Returns the Rust type of an enum of this package.
    fn enum_type(&self, field: &FieldDescriptorProto) -> Result<String, Box<dyn Error>> {
        let path = field.type_name().strip_prefix('.').and_then(|name| name.strip_prefix(self.package));
        match path.and_then(|path| path.strip_prefix('.')) {
            Some(name) if !name.contains('.') => Ok(name.to_upper_camel_case()),
            _ => {
                Err(format!("{} is not a top-level enum of its package, which build.rs requires", field.type_name())
                    .into())
            }
        }
    }
}

/// Returns the name of the oneof that contains the field.
fn oneof<'a>(message: &'a DescriptorProto, field: &FieldDescriptorProto) -> Option<&'a str> {
    let index = usize::try_from(field.oneof_index?).ok()?;
    message.oneof_decl.get(index).map(|oneof| oneof.name())
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

/// Returns the field name that prost uses. Only the keywords in use are handled; another one fails to compile.
fn rust_name(field: &FieldDescriptorProto) -> String {
    match field.name() {
        "self" => "self_".to_owned(),
        "type" => "r#type".to_owned(),
        name => name.to_owned(),
    }
}
