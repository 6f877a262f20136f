//! Access to the fields of a definition and of its schemas. It is used after `field_types` has checked their types, so
//! a value of another type counts as missing here.

use serde_json::Value;

/// A schema, or another mapping of a definition. As in the API server, a field with the value null counts as missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'v>(pub(super) &'v Value);

impl<'v> Fields<'v> {
    pub(super) fn get(self, field: &str) -> Option<&'v Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn has(self, field: &str) -> bool {
        self.get(field).is_some()
    }

    /// Returns the text of a field, or an empty text if it is missing.
    pub(super) fn text(self, field: &str) -> &'v str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn flag(self, field: &str) -> bool {
        self.get(field) == Some(&Value::Bool(true))
    }

    pub(super) fn list(self, field: &str) -> &'v [Value] {
        self.get(field)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    pub(super) fn texts(self, field: &str) -> impl Iterator<Item = &'v str> {
        self.list(field)
            .iter()
            .map(|text| text.as_str().unwrap_or_default())
    }

    pub(super) fn fields(self, field: &str) -> Option<Self> {
        self.get(field).map(Fields)
    }

    /// Returns the type of a schema, or an empty text if it has none.
    pub(super) fn kind(self) -> &'v str {
        self.text("type")
    }

    /// Returns the schema of a list's items.
    pub(super) fn items(self) -> Option<Self> {
        self.fields("items").filter(|items| items.0.is_object())
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'v str, Self)> {
        self.get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), Fields(schema)))
    }

    pub(super) fn has_properties(self) -> bool {
        self.properties().next().is_some()
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        let properties = self.get("properties").and_then(Value::as_object);
        properties?.get(name).map(Fields)
    }

    /// Returns the schema in `additionalProperties`, or `None` if its value is a Boolean.
    pub(super) fn additional(self) -> Option<Self> {
        let schema = self.fields("additionalProperties");
        schema.filter(|schema| schema.0.is_object())
    }

    /// Returns the clauses of `allOf`, `anyOf` or `oneOf`.
    pub(super) fn clauses(self, field: &str) -> impl Iterator<Item = Self> {
        self.list(field).iter().map(Fields)
    }

    pub(super) fn not(self) -> Option<Self> {
        self.fields("not")
    }

    pub(super) fn is_embedded(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(super) fn is_int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    pub(super) fn preserves_unknown_fields(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }
}
