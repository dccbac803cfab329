// Package iam evaluates policies of AWS Identity and Access Management: the part of the language that
// policies for programs use. It contains no code of a service; callers pass the action and the resource, with
// its tags.
package iam
