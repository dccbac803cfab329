// Package iam evaluates policies of AWS Identity and Access Management: the part of the language
// that policies for programs use. It knows nothing of services; who asks says what is changes of
// which resource, with which tags.
package iam
