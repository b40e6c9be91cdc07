//! The derive for structs.

use crate::attribute::{FieldAttributes, RecordAttributes};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, Error, Fields, Ident, Result, Type};

struct Field<'a> {
    name: &'a Ident,
    ty: &'a Type,
    attributes: FieldAttributes,
}

pub fn derive(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let record = RecordAttributes::parse(&input.attrs)?;
    let fields = parse_fields(data)?;
    let replicate = implement_replicate(input, &fields)?;
    let component = implement_component(input, &record, &fields)?;
    Ok(quote!(#replicate #component))
}

fn parse_fields(data: &DataStruct) -> Result<Vec<Field<'_>>> {
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(fields) => {
            return Err(Error::new_spanned(fields, "replicated fields need names"));
        }
    };
    fields
        .into_iter()
        .map(|field| {
            let name = field
                .ident
                .as_ref()
                .ok_or_else(|| Error::new_spanned(field, "replicated fields need names"))?;
            Ok(Field {
                name,
                ty: &field.ty,
                attributes: FieldAttributes::parse(&field.attrs)?,
            })
        })
        .collect()
}

impl Field<'_> {
    fn codec(&self) -> TokenStream {
        self.attributes
            .codec
            .clone()
            .unwrap_or_else(|| quote!(::aether_bits::codec::Own))
    }

    fn initial(&self) -> TokenStream {
        let (ty, codec) = (self.ty, self.codec());
        match &self.attributes.default {
            _ if self.attributes.skip => quote!(::core::default::Default::default()),
            Some(default) => quote!({
                let mut value: #ty = #default;
                ::aether_bits::codec::Codec::<#ty>::snap(&#codec, &mut value);
                value
            }),
            None => quote!(::aether_bits::codec::Codec::<#ty>::initial(&#codec)),
        }
    }
}

fn implement_replicate(input: &DeriveInput, fields: &[Field<'_>]) -> Result<TokenStream> {
    let name = &input.ident;
    let sent: Vec<_> = fields
        .iter()
        .filter(|field| !field.attributes.skip)
        .collect();
    let names: Vec<_> = sent.iter().map(|field| field.name).collect();
    let types: Vec<_> = sent.iter().map(|field| field.ty).collect();
    let codecs: Vec<_> = sent.iter().map(|field| field.codec()).collect();
    let all_names = fields.iter().map(|field| field.name);
    let initials = fields.iter().map(Field::initial);
    let skipped: Vec<_> = fields
        .iter()
        .filter(|field| field.attributes.skip)
        .map(|field| field.name)
        .collect();
    let bases = sent
        .iter()
        .map(|field| expected(field, &sent))
        .collect::<Result<Vec<_>>>()?;
    let descriptors = sent.iter().map(|field| describe(field, &sent));
    let same = sent.iter().map(|field| compare(field));
    Ok(quote! {
        impl ::aether_bits::Replicate for #name {
            fn initial() -> Self {
                #name { #(#all_names: #initials,)* }
            }

            #[inline]
            fn snap(&mut self) {
                #(::aether_bits::codec::Codec::<#types>::snap(&const { #codecs }, &mut self.#names);)*
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                true #(&& #same)*
            }

            #[inline]
            fn write_delta(&self, base: &Self, elapsed_seconds: f32, writer: &mut ::aether_bits::BitWriter) {
                let _ = elapsed_seconds;
                #(::aether_bits::codec::Codec::<#types>::write(&const { #codecs }, #bases, &self.#names, writer);)*
            }

            #[inline]
            fn read_delta(
                base: &Self,
                elapsed_seconds: f32,
                reader: &mut ::aether_bits::BitReader<'_>,
            ) -> ::core::result::Result<Self, ::aether_bits::ReadError> {
                let _ = elapsed_seconds;
                #(let #names = ::aether_bits::codec::Codec::<#types>::read(&const { #codecs }, #bases, reader)?;)*
                ::core::result::Result::Ok(#name {
                    #(#names,)*
                    #(#skipped: ::core::default::Default::default(),)*
                })
            }

            fn kind() -> ::aether_bits::Kind {
                ::aether_bits::Kind::Record { fields: ::std::vec![#(#descriptors),*] }
            }
        }
    })
}

/// The reference that a field's difference is taken from: its base, moved on by its velocity where it has one.
fn expected(field: &Field<'_>, sent: &[&Field<'_>]) -> Result<TokenStream> {
    let name = field.name;
    let Some(velocity) = &field.attributes.moves_by else {
        return Ok(quote!(&base.#name));
    };
    if !sent.iter().any(|other| other.name == velocity) {
        return Err(Error::new_spanned(
            velocity,
            "moves_by names a replicated field of the same struct",
        ));
    }
    Ok(match field.ty {
        Type::Array(_) => {
            quote!(&::core::array::from_fn(|i| base.#name[i] + base.#velocity[i] * elapsed_seconds))
        }
        _ => quote!(&(base.#name + base.#velocity * elapsed_seconds)),
    })
}

fn compare(field: &Field<'_>) -> TokenStream {
    let name = field.name;
    match field.attributes.codec {
        Some(_) => quote!(self.#name == other.#name),
        None => quote!(::aether_bits::Replicate::same(&self.#name, &other.#name)),
    }
}

fn describe(field: &Field<'_>, sent: &[&Field<'_>]) -> TokenStream {
    let (ty, codec, text, initial) = (
        field.ty,
        field.codec(),
        field.name.to_string(),
        field.initial(),
    );
    let moves_by = field.attributes.moves_by.as_ref();
    let moves_by = match moves_by.and_then(|by| sent.iter().position(|other| other.name == by)) {
        Some(index) => {
            let index = index as u8;
            quote!(::core::option::Option::Some(#index))
        }
        None => quote!(::core::option::Option::None),
    };
    quote! {
        ::aether_bits::schema::describe_field::<#ty, _>(#text, &#codec, &#initial, #moves_by)
    }
}

fn implement_component(
    input: &DeriveInput,
    record: &RecordAttributes,
    fields: &[Field<'_>],
) -> Result<TokenStream> {
    let name = &input.ident;
    let text = name.to_string();
    let channel = record
        .channel
        .as_ref()
        .map_or_else(|| quote!("state"), |channel| quote!(#channel));
    for place in &record.place {
        if !fields.iter().any(|field| field.name == place) {
            return Err(Error::new_spanned(
                place,
                "place names a field of this struct",
            ));
        }
    }
    let place = match record.place.as_slice() {
        [] => quote!(),
        [both] => quote! {
            const PLACED: bool = true;

            #[inline]
            fn place(&self) -> ::core::option::Option<[f32; 2]> {
                ::core::option::Option::Some([self.#both[0], self.#both[1]])
            }
        },
        [x, y] => quote! {
            const PLACED: bool = true;

            #[inline]
            fn place(&self) -> ::core::option::Option<[f32; 2]> {
                ::core::option::Option::Some([self.#x, self.#y])
            }
        },
        [_, _, third, ..] => return Err(Error::new_spanned(third, "a place has two coordinates")),
    };
    Ok(quote! {
        impl ::aether_bits::Component for #name {
            const NAME: &'static str = #text;
            const CHANNEL: &'static str = #channel;
            #place
        }
    })
}
