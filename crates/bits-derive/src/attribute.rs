//! Reads the `#[replicate(…)]` attributes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, Ident, Lit, LitStr, RangeLimits, Result};

/// Attributes of a struct.
#[derive(Default)]
pub struct RecordAttributes {
    pub channel: Option<LitStr>,
    /// The fields that hold the position: none, one vector, or its two or three coordinates.
    pub position: Vec<Ident>,
}

/// Attributes of a field.
#[derive(Default)]
pub struct FieldAttributes {
    /// Expression that builds the codec. Without it, the type's own packing is used.
    pub codec: Option<TokenStream>,
    pub default: Option<Expr>,
    pub moves_by: Option<Ident>,
    pub skip: bool,
}

impl RecordAttributes {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = RecordAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("channel") {
                parsed.channel = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("position") || meta.path.is_ident("place") {
                if meta.input.peek(syn::Token![=]) {
                    parsed.position.push(meta.value()?.parse()?);
                } else {
                    meta.parse_nested_meta(|name| {
                        parsed.position.push(name.path.require_ident()?.clone());
                        Ok(())
                    })?;
                }
            } else {
                return Err(meta.error(format!(
                    "unknown attribute `{}` of a struct; use `channel = \"…\"`, `position = field` or `position(x, y)`",
                    name_of(&meta),
                )));
            }
            Ok(())
        })?;
        Ok(parsed)
    }
}

impl FieldAttributes {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = FieldAttributes::default();
        let mut range: Option<(Expr, Expr)> = None;
        let mut step: Option<Expr> = None;
        let mut list: Option<Expr> = None;
        each(attributes, |meta| {
            let codec = |name: &str, meta: &ParseNestedMeta<'_>| -> Result<TokenStream> {
                let name = Ident::new(name, proc_macro2::Span::call_site());
                let size: Expr = meta.value()?.parse()?;
                Ok(quote!(::aether_bits::codec::#name::new(#size)))
            };
            match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some("range") => range = Some(parse_range(&meta)?),
                Some("step") => step = Some(meta.value()?.parse()?),
                Some("angle") => parsed.codec = Some(codec("Angle", &meta)?),
                Some("rotation") => parsed.codec = Some(codec("Rotation", &meta)?),
                Some("unit_vector") => parsed.codec = Some(codec("UnitVector", &meta)?),
                Some("text") => parsed.codec = Some(codec("Text", &meta)?),
                Some("list") => list = Some(meta.value()?.parse()?),
                Some("default") => parsed.default = Some(meta.value()?.parse()?),
                Some("moves_by") => parsed.moves_by = Some(meta.value()?.parse()?),
                Some("skip") => parsed.skip = true,
                _ => {
                    return Err(meta.error(format!(
                        "unknown attribute `{}` of a field; use range, step, angle, rotation, unit_vector, text, list, \
                         default, moves_by or skip",
                        name_of(&meta),
                    )));
                }
            }
            Ok(())
        })?;
        parsed.add_range(range, step)?;
        if let Some(len_max) = list {
            let element = parsed.codec.take().unwrap_or_else(|| quote!(::aether_bits::codec::ByType));
            parsed.codec = Some(quote!(::aether_bits::codec::List::new(#len_max, #element)));
        }
        Ok(parsed)
    }

    fn add_range(&mut self, range: Option<(Expr, Expr)>, step: Option<Expr>) -> Result<()> {
        match (range, step) {
            (Some(_), _) if self.codec.is_some() => Err(Error::new(
                proc_macro2::Span::call_site(),
                "`range` cannot be combined with another packing; remove one of them",
            )),
            (Some((min, max)), Some(step)) => {
                self.codec = Some(quote!(::aether_bits::codec::Number::new(#min, #max, #step)));
                Ok(())
            }
            (Some((min, max)), None) if is_float(&min) || is_float(&max) => Err(Error::new_spanned(
                min,
                "a range of real numbers needs a step; write `range = min..=max, step = …`",
            )),
            (Some((min, max)), None) => {
                self.codec = Some(quote!(::aether_bits::codec::Integer::new(#min, #max)));
                Ok(())
            }
            (None, Some(step)) => {
                Err(Error::new_spanned(step, "`step` needs a range; write `range = min..=max, step = …`"))
            }
            (None, None) => Ok(()),
        }
    }
}

fn name_of(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.segments.last().map_or_else(String::new, |segment| segment.ident.to_string())
}

fn is_float(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Float(_)),
        Expr::Unary(unary) => is_float(&unary.expr),
        _ => false,
    }
}

fn parse_range(meta: &ParseNestedMeta<'_>) -> Result<(Expr, Expr)> {
    let expression: Expr = meta.value()?.parse()?;
    if let Expr::Range(range) = &expression
        && let (Some(min), RangeLimits::Closed(_), Some(max)) = (&range.start, &range.limits, &range.end)
    {
        return Ok(((**min).clone(), (**max).clone()));
    }
    Err(Error::new_spanned(expression, "a range must have both ends and include them; write `min..=max`"))
}

fn each(attributes: &[Attribute], mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("replicate"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}
