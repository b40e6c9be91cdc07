//! Paths of the derived code in crates that use the crate for game authors.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

/// Replaces `aether_bits` by `aether::bits` in derived code.
pub fn in_facade(tokens: TokenStream) -> TokenStream {
    tokens.into_iter().map(replace).collect()
}

fn replace(token: TokenTree) -> TokenStream {
    match token {
        TokenTree::Group(group) => {
            let mut replaced = Group::new(group.delimiter(), in_facade(group.stream()));
            replaced.set_span(group.span());
            replaced.to_token_stream()
        }
        TokenTree::Ident(name) if name == "aether_bits" => in_bits(&name),
        other => other.to_token_stream(),
    }
}

fn in_bits(name: &Ident) -> TokenStream {
    quote_spanned!(name.span()=> aether::bits)
}
